"""Passwords in connection strings, hidden before anyone sees them."""

import re

MASK = "***"

_SECRETS = r"(?:(?:ssl)?password|oauth_client_secret|scram_(?:client|server)_key)"
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Up to the last @: a password with an unescaped @ or / is a mistake, and is hidden all the same.
_IN_ADDRESS = re.compile(r"(://[^:/?#]*:).*@", re.DOTALL)
_IN_QUERY = re.compile(rf"([?&]{_SECRETS}=)[^&]*", re.IGNORECASE)
_IN_CONNINFO = re.compile(rf"(\b{_SECRETS}\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])+)", re.IGNORECASE | re.DOTALL)


def masked(connection: str) -> str:
    """The URL or libpq connection string, with `***` in place of each secret."""
    if _SCHEME.match(connection):
        return _IN_QUERY.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1{MASK}@", connection))
    return _IN_CONNINFO.sub(rf"\1{MASK}", connection)
