"""The connection string of a database, checked before anybody connects with it.

libpq's error messages quote their input, which may be a piece of a password: one with a space in it, or with an @
that is not written as %40. The reasons given here are our own words, and quote only names of options.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from detent.errors import UnreadableConnection

_REASONS = {
    "unterminated quoted": "a quote in it is not closed",
    "percent-encoded value": "a % in it is not followed by two hexadecimal digits; the sign itself is %25",
    "percent-encoded token": "a % in it is not followed by two hexadecimal digits; the sign itself is %25",
    "percent-encoded spaces": "a space in it is not written as %20",
    "IPv6": "[ ] contains no address, or : or / does not follow it",
    "unexpected character": "[ ] contains no address, or : or / does not follow it",
    "key/value separator": "an option in it has no =",
    'missing "="': "a word in it has no =, perhaps because a value with a space is not in quotes",
}
"""libpq's messages, and their meaning."""

_NO_ADDRESS = "it is neither a URL that begins with postgresql:// nor options such as host=db"
_URL = re.compile(r"postgres(?:ql)?://(.*)", re.DOTALL)
_UNKNOWN = re.compile(r'(?:invalid connection option|invalid URI query parameter:) "([^"]*)"')
_WRONG_VALUE = re.compile(r"(?:connection is bad: )?invalid (\w+) value:")


def read(connection: str) -> dict[str, Any]:
    """Return the options in a URL or a list of options; raises UnreadableConnection."""
    try:
        options = conninfo_to_dict(connection)
    except UnicodeError:
        raise UnreadableConnection("it is not UTF-8 text") from None
    except psycopg.ProgrammingError as error:
        raise UnreadableConnection(_complaint(connection, str(error))) from None
    reason = _misplaced(connection) or _no_number(options)
    if reason:
        raise UnreadableConnection(reason)
    return options


def mistake(error: psycopg.Error) -> str | None:
    """Return the mistake in a connection string that only shows when connecting."""
    said = str(error)
    wrong = _WRONG_VALUE.match(said)
    if wrong:
        return f"its {wrong[1]} is unknown to PostgreSQL"
    if said.startswith("could not match"):
        return "it has a different number of ports and hosts"
    return "its service is not defined" if "definition of service" in said else None


def _complaint(connection: str, said: str) -> str:
    if not _URL.match(connection) and "=" not in connection:
        return _NO_ADDRESS
    unknown = _UNKNOWN.match(said)
    if unknown:
        return _unknown_option(unknown[1])
    return next((reason for phrase, reason in _REASONS.items() if phrase in said), _NO_ADDRESS)


def _unknown_option(name: str) -> str:
    """Describe an unknown option. The name is quoted only if a similar one exists: it may be a piece of a password
    with an = in it."""
    known = [option.keyword.decode() for option in pq.Conninfo.get_defaults()]
    alike = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
    if alike:
        return f"{name} is not an option of PostgreSQL; {alike[0]} may be meant"
    return "it has an option that PostgreSQL does not know"


def _misplaced(connection: str) -> str | None:
    """Return the mistake of an unescaped password. libpq ends a password at the first @ or /; the rest of it then
    names a server."""
    url = _URL.match(connection)
    if url is None:
        return None
    credentials, _, after = url[1].partition("@")
    place = (after if "/" not in credentials else url[1]).partition("?")[0]
    if "@" in place and ":" in url[1].rpartition("@")[0]:
        return "an @ or / in its user or password is not written as %40 or %2F"
    return None


def _no_number(options: dict[str, Any]) -> str | None:
    ports = [port.strip() for port in str(options.get("port", "")).split(",")]
    if not all(port == "" or (port.isdecimal() and 1 <= int(port) <= 65535) for port in ports):
        return "its port is not a number from 1 to 65535"
    try:
        float(options.get("connect_timeout", 0))
    except ValueError:
        return "its connect_timeout is not a number"
    return None
