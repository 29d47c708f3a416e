"""The kind of trouble that an exception means: the tables "Failure Categories" and "Error Classification".

Libraries are recognised by the names of their exception classes and not by importing them: a handler may
use httpx, lxml or psycopg, and this module needs none of them.
"""

from __future__ import annotations

import errno
import json
from enum import StrEnum

from detent.errors import BudgetSpent, MalformedAnswer, Unstorable


class Trouble(StrEnum):
    """A category of failure. Transient ones are tried again, permanent ones fail at once."""

    TIMEOUT = "timeout"
    NETWORK = "network"
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    RESOURCES = "resources"
    DIED = "worker_died"
    UNKNOWN = "unknown"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    REJECTED = "rejected"
    MALFORMED = "malformed"
    DATABASE = "database"
    UNSTORABLE = "unstorable"

    @property
    def transient(self) -> bool:
        return self in _TRANSIENT


_TRANSIENT = frozenset(
    {
        Trouble.TIMEOUT,
        Trouble.NETWORK,
        Trouble.RATE_LIMITED,
        Trouble.SERVER,
        Trouble.RESOURCES,
        Trouble.DIED,
        Trouble.UNKNOWN,
    }
)

_BY_TYPE: tuple[tuple[type[BaseException], Trouble], ...] = (
    (Unstorable, Trouble.UNSTORABLE),
    (BudgetSpent, Trouble.REJECTED),
    (MalformedAnswer, Trouble.MALFORMED),
    (json.JSONDecodeError, Trouble.MALFORMED),
    (UnicodeError, Trouble.MALFORMED),
    (TimeoutError, Trouble.TIMEOUT),
    (ConnectionError, Trouble.NETWORK),
    (FileNotFoundError, Trouble.NOT_FOUND),
    (NotADirectoryError, Trouble.NOT_FOUND),
    (IsADirectoryError, Trouble.REJECTED),
    (PermissionError, Trouble.FORBIDDEN),
    (MemoryError, Trouble.RESOURCES),
    (OSError, Trouble.RESOURCES),
)

_BY_ERRNO = {
    errno.ELOOP: Trouble.REJECTED,
    errno.ENAMETOOLONG: Trouble.REJECTED,
    errno.EHOSTUNREACH: Trouble.NETWORK,
    errno.ENETDOWN: Trouble.NETWORK,
    errno.ENETUNREACH: Trouble.NETWORK,
}

_BY_NAME = {
    "concurrent.BrokenExecutor": Trouble.DIED,
    "detent.DumpUnreadable": Trouble.MALFORMED,
    "httpx.DecodingError": Trouble.MALFORMED,
    "httpx.HTTPStatusError": Trouble.REJECTED,
    "httpx.InvalidURL": Trouble.REJECTED,
    "httpx.TimeoutException": Trouble.TIMEOUT,
    "httpx.TooManyRedirects": Trouble.REJECTED,
    "httpx.TransportError": Trouble.NETWORK,
    "httpx.UnsupportedProtocol": Trouble.REJECTED,
    "lxml.LxmlError": Trouble.MALFORMED,
    "psycopg.DataError": Trouble.UNSTORABLE,
    "psycopg.Error": Trouble.DATABASE,
    "socket.gaierror": Trouble.NETWORK,
    "ssl.SSLError": Trouble.NETWORK,
    "urllib.URLError": Trouble.NETWORK,
    "xml.ExpatError": Trouble.MALFORMED,
    "xml.ParseError": Trouble.MALFORMED,
    "xml.SAXParseException": Trouble.MALFORMED,
}

_BY_STATUS = {
    401: Trouble.FORBIDDEN,
    403: Trouble.FORBIDDEN,
    404: Trouble.NOT_FOUND,
    408: Trouble.TIMEOUT,
    410: Trouble.NOT_FOUND,
    425: Trouble.SERVER,
    429: Trouble.RATE_LIMITED,
    451: Trouble.FORBIDDEN,
}


def classify(error: BaseException) -> Trouble:
    """The category of an exception; one that nobody knows is transient until the limit.

    Of a group, what is permanent decides: trying again would meet it again.
    """
    if isinstance(error, BaseExceptionGroup):
        troubles = [classify(each) for each in error.exceptions]
        return next((trouble for trouble in troubles if not trouble.transient), troubles[0])
    status = _http_status(error)
    if status is not None:
        return classify_status(status)
    for name in _names(type(error)):
        if name in _BY_NAME:
            return _BY_NAME[name]
    if isinstance(error, OSError) and error.errno in _BY_ERRNO:
        return _BY_ERRNO[error.errno]
    return next((trouble for kind, trouble in _BY_TYPE if isinstance(error, kind)), Trouble.UNKNOWN)


def classify_status(status: int) -> Trouble:
    """The category of an HTTP status that is not a success."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Trouble.SERVER if status >= 500 else Trouble.REJECTED


def _http_status(error: BaseException) -> int | None:
    """The status that the error carries: on its response, or as its own `code` where it is urllib's."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if "urllib.HTTPError" in _names(type(error)):
        status = getattr(error, "code", None)
    return status if isinstance(status, int) and status >= 400 else None


def _names(kind: type) -> list[str]:
    """`package.Class` for each class the error's class derives from, most derived first."""
    return [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in kind.__mro__]
