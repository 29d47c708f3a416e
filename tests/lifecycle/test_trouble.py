"""Which trouble an exception means, and whether trying again can help."""

import asyncio
import concurrent.futures.process
import email.message
import errno
import json
import socket
import ssl
import urllib.error
import xml.parsers.expat
import xml.sax
from collections.abc import Callable
from xml.etree import ElementTree
from xml.sax.xmlreader import Locator

import httpx
import psycopg
import psycopg_pool
import pytest

from detent.errors import Unstorable
from detent.lifecycle import Trouble, classify
from detent.lifecycle.trouble import classify_status

REQUEST = httpx.Request("GET", "https://example.org/page")


def answered(status: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("refused", request=REQUEST, response=httpx.Response(status, request=REQUEST))


def raised_by(parse: Callable[[str], object], text: str) -> Exception:
    """The very exception that a parser raises, as handlers meet it."""
    with pytest.raises(Exception) as raised:
        parse(text)
    return raised.value


class LxmlError(Exception):
    """Stands for lxml's, which is recognised by its name and not imported."""

    __module__ = "lxml.etree"


class XMLSyntaxError(LxmlError, SyntaxError):
    __module__ = "lxml.etree"


class SourceTimeout(httpx.ReadTimeout):
    """A source's own error, derived from a known one."""


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (400, Trouble.REJECTED),
        (401, Trouble.FORBIDDEN),
        (403, Trouble.FORBIDDEN),
        (404, Trouble.NOT_FOUND),
        (405, Trouble.REJECTED),
        (408, Trouble.TIMEOUT),
        (410, Trouble.NOT_FOUND),
        (422, Trouble.REJECTED),
        (425, Trouble.SERVER),
        (429, Trouble.RATE_LIMITED),
        (451, Trouble.FORBIDDEN),
        (500, Trouble.SERVER),
        (502, Trouble.SERVER),
        (503, Trouble.SERVER),
        (504, Trouble.SERVER),
        (599, Trouble.SERVER),
        (301, Trouble.REJECTED),
    ],
)
def test_an_http_status_means(status: int, trouble: Trouble) -> None:
    assert classify(answered(status)) is trouble
    assert classify_status(status) is trouble


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (httpx.ConnectTimeout("slow"), Trouble.TIMEOUT),
        (httpx.ReadTimeout("slow"), Trouble.TIMEOUT),
        (httpx.WriteTimeout("slow"), Trouble.TIMEOUT),
        (httpx.PoolTimeout("slow"), Trouble.TIMEOUT),
        (SourceTimeout("slow"), Trouble.TIMEOUT),
        (httpx.ConnectError("refused"), Trouble.NETWORK),
        (httpx.ReadError("reset"), Trouble.NETWORK),
        (httpx.WriteError("reset"), Trouble.NETWORK),
        (httpx.CloseError("reset"), Trouble.NETWORK),
        (httpx.ProxyError("away"), Trouble.NETWORK),
        (httpx.RemoteProtocolError("cut off"), Trouble.NETWORK),
        (httpx.LocalProtocolError("out of step"), Trouble.NETWORK),
        (httpx.TooManyRedirects("loop"), Trouble.REJECTED),
        (httpx.UnsupportedProtocol("gopher"), Trouble.REJECTED),
        (httpx.InvalidURL("no host"), Trouble.REJECTED),
        (httpx.DecodingError("not gzip"), Trouble.MALFORMED),
        (TimeoutError("slow"), Trouble.TIMEOUT),
        (OSError(errno.ETIMEDOUT, "slow"), Trouble.TIMEOUT),
        (ConnectionError("cut off"), Trouble.NETWORK),
        (ConnectionResetError("cut off"), Trouble.NETWORK),
        (ConnectionRefusedError("nobody there"), Trouble.NETWORK),
        (BrokenPipeError("cut off"), Trouble.NETWORK),
        (OSError(errno.ENETUNREACH, "no way"), Trouble.NETWORK),
        (OSError(errno.EHOSTUNREACH, "no way"), Trouble.NETWORK),
        (socket.gaierror(socket.EAI_NONAME, "no such host"), Trouble.NETWORK),
        (ssl.SSLError("handshake"), Trouble.NETWORK),
        (ssl.SSLCertVerificationError("expired"), Trouble.NETWORK),
        (urllib.error.URLError("away"), Trouble.NETWORK),
        (urllib.error.HTTPError("u", 404, "gone", email.message.Message(), None), Trouble.NOT_FOUND),
        (urllib.error.HTTPError("u", 503, "busy", email.message.Message(), None), Trouble.SERVER),
        (FileNotFoundError("a"), Trouble.NOT_FOUND),
        (NotADirectoryError("a"), Trouble.NOT_FOUND),
        (IsADirectoryError("a"), Trouble.REJECTED),
        (OSError(errno.ELOOP, "links in a circle"), Trouble.REJECTED),
        (OSError(errno.ENAMETOOLONG, "long"), Trouble.REJECTED),
        (PermissionError("a"), Trouble.FORBIDDEN),
        (OSError(errno.ENOSPC, "full"), Trouble.RESOURCES),
        (OSError(errno.EMFILE, "too many files"), Trouble.RESOURCES),
        (OSError("something"), Trouble.RESOURCES),
        (MemoryError(), Trouble.RESOURCES),
        (concurrent.futures.process.BrokenProcessPool("killed"), Trouble.DIED),
        (raised_by(json.loads, "{"), Trouble.MALFORMED),
        (raised_by(ElementTree.fromstring, "<a>"), Trouble.MALFORMED),
        (raised_by(xml.parsers.expat.ParserCreate().Parse, "</a>"), Trouble.MALFORMED),
        (xml.sax.SAXParseException("unclosed", None, Locator()), Trouble.MALFORMED),
        (raised_by(lambda text: text.encode("latin-1").decode("utf-8"), "\xff"), Trouble.MALFORMED),
        (raised_by(lambda text: text.encode("utf-8"), "\ud800"), Trouble.MALFORMED),
        (XMLSyntaxError("unclosed"), Trouble.MALFORMED),
        (LxmlError("broken"), Trouble.MALFORMED),
        (psycopg.OperationalError("away"), Trouble.DATABASE),
        (psycopg.errors.UniqueViolation("twice"), Trouble.DATABASE),
        (psycopg_pool.PoolTimeout("none free"), Trouble.DATABASE),
        (psycopg.DataError("a NUL byte"), Trouble.UNSTORABLE),
        (Unstorable("a NUL byte"), Trouble.UNSTORABLE),
        (ValueError("odd"), Trouble.UNKNOWN),
        (KeyError("title"), Trouble.UNKNOWN),
        (RuntimeError("odd"), Trouble.UNKNOWN),
        (SyntaxError("odd"), Trouble.UNKNOWN),
        (Exception(), Trouble.UNKNOWN),
    ],
    ids=lambda value: f"{type(value).__name__}" if isinstance(value, BaseException) else str(value),
)
def test_an_exception_means(error: Exception, trouble: Trouble) -> None:
    assert classify(error) is trouble


async def test_what_asyncio_cut_short_means_a_timeout() -> None:
    with pytest.raises(TimeoutError) as raised:
        await asyncio.wait_for(asyncio.Event().wait(), timeout=0)
    assert classify(raised.value) is Trouble.TIMEOUT


@pytest.mark.parametrize(
    ("category", "error", "again"),
    [
        ("000: network timeout", httpx.ConnectTimeout("slow"), True),
        ("000: Wikipedia API 500 error", answered(500), True),
        ("000: rate limiting (429)", answered(429), True),
        ("000: article not found (404)", answered(404), False),
        ("000: redirect loop", httpx.TooManyRedirects("loop"), False),
        ("000: parsing error", raised_by(json.loads, "["), False),
        ("003: HTTP 429 (rate limit)", answered(429), True),
        ("003: HTTP 500 (server error)", answered(500), True),
        ("003: HTTP 404 (not found)", answered(404), False),
        ("003: network timeout, connection dropped", httpx.RemoteProtocolError("dropped"), True),
        ("003: database error", psycopg.OperationalError("connection failed"), False),
        ("003: parse error, invalid JSON response", raised_by(json.loads, "<html>"), False),
    ],
)
def test_what_the_documents_try_again_is_transient(category: str, error: Exception, again: bool) -> None:
    assert classify(error).transient is again, category


def test_troubles_are_transient_exactly_as_listed() -> None:
    assert {trouble.value for trouble in Trouble if trouble.transient} == {
        "timeout",
        "network",
        "rate_limited",
        "server",
        "resources",
        "worker_died",
        "unknown",
    }


def test_of_a_group_what_is_permanent_decides() -> None:
    group = ExceptionGroup("two pages", [httpx.ReadTimeout("slow"), answered(404)])
    assert classify(group) is Trouble.NOT_FOUND


def test_a_group_of_transient_troubles_means_the_first() -> None:
    group = ExceptionGroup("two pages", [answered(429), httpx.ReadTimeout("slow")])
    assert classify(group) is Trouble.RATE_LIMITED


def test_groups_within_groups_are_looked_into() -> None:
    inner = ExceptionGroup("page", [raised_by(json.loads, "{")])
    assert classify(ExceptionGroup("site", [KeyError("x"), inner])) is Trouble.MALFORMED


def test_a_response_that_was_a_success_says_nothing_about_the_error() -> None:
    error = ValueError("no title")
    error.response = httpx.Response(200)  # type: ignore[attr-defined]
    assert classify(error) is Trouble.UNKNOWN
