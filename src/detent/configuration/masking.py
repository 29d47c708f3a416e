"""Passwords in connection strings, hidden before anyone sees them.

What is not known to be harmless is hidden: in a string that was written wrongly, anything may be a password or a
piece of one.
"""

import re

MASK = "***"

_SECRET = re.compile(r"(ssl)?password|oauth_client_secret|scram_(client|server)_key", re.IGNORECASE)
_HARMLESS = re.compile(
    r"service|user|dbname|host(addr)?|port|options|passfile|client_encoding|(fallback_)?application_name|replication|"
    r"connect_timeout|keepalives(_\w+)?|tcp_user_timeout|target_session_attrs|load_balance_hosts|channel_binding|"
    r"ssl(?!pas)\w*|gss\w+|krbsrvname|require(peer|_auth)|(min|max)_protocol_version|"
    r"oauth_(issuer|client_id|scope)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Up to the last @: a password with an unescaped @ or / is a mistake, and is hidden all the same.
_IN_ADDRESS = re.compile(r"(://[^:/?#]*:).*@", re.DOTALL)
# A password without its @ stands where a port would.
_IN_PORT = re.compile(r"(://[^/?#@\[\]]*?:)(?!\d*(?:[,/?#]|$))[^@]*$")
_IN_QUERY = re.compile(r"([?&])([^=&]*)(=?)([^&]*)")
_IN_CONNINFO = re.compile(r"([^\s=]+)(\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])*)|\S+", re.DOTALL)


def masked(connection: str) -> str:
    """The URL or libpq connection string, with `***` in place of each secret."""
    if _SCHEME.match(connection):
        address = _IN_PORT.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1{MASK}@", connection))
        return _IN_QUERY.sub(_in_query, address)
    return _IN_CONNINFO.sub(_in_conninfo, connection)


def _in_query(option: re.Match[str]) -> str:
    before, name, equals, _ = option.groups()
    return option[0] if _HARMLESS.fullmatch(name) else f"{before}{name if equals else ''}{equals}{MASK}"


def _in_conninfo(option: re.Match[str]) -> str:
    """An option; or a word alone, or a name that nobody knows: those may be what follows a space in a password."""
    name, equals = option[1] or "", option[2]
    if _SECRET.fullmatch(name):
        return f"{name}{equals}{MASK}"
    return option[0] if _HARMLESS.fullmatch(name) else MASK
