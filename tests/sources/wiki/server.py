"""A wiki on a socket: it speaks the API of a MediaWiki over pages that a test gives it, and misbehaves when told to.

    with WikiServer({"Cat": "A [[pet]].", "Cats": "#REDIRECT [[Cat]]"}) as wiki:
        wiki.api                              # where it is asked
        wiki.edit("Cat", "Another text.")     # and move, delete; each edit has a greater number
        wiki.fail_next(LAGGED, limited("7"))  # what the next requests meet, one each
        wiki.broken["Cat"] = Failing(500)     # what all requests meet that ask for this title
        wiki.requests                         # what it was asked

What else there is to know of a page stands in its text: `#REDIRECT [[…]]`, `[[Category:…]]`, `__DISAMBIG__`, and
`__HIDDENCAT__` in the page of a category. How it answers is told by the fields of `Wiki`, as names of arguments.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from tests.sources.wiki.contents import Parameters, Wiki, error

PATH = "/w/api.php"


class Asked(NamedTuple):
    """A request that came in."""

    method: str
    parameters: Parameters
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Failing:
    """What a request meets. Without a `body` it is answered rightly, as far as the rest allows: the status, in another
    `charset`, cut off after so many bytes, with a length told that is `off` by so many, or not before `release`."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    charset: str = "utf-8"
    cut_at: int | None = None
    off: int = 0
    stalls: bool = False


def refusing(code: str, info: str, headers: Mapping[str, str] | None = None, **more: Any) -> Failing:
    """An error as the API tells it, with the status of a success."""
    body = json.dumps(error(code, info, **more)).encode()
    return Failing(headers={"MediaWiki-API-Error": code, **(headers or {})}, body=body)


def limited(retry_after: str | None) -> Failing:
    """429 as a host in front of a wiki says it: in plain text."""
    waits = {"Retry-After": retry_after} if retry_after is not None else {}
    return Failing(429, {"Content-Type": "text/plain", **waits}, b"Too many requests, slow down.")


LAGGED = refusing("maxlag", "Waiting for a copy: 7.5 seconds behind", {"Retry-After": "5"}, lag=7.5, type="db")
AWAY = Failing(503, {"Content-Type": "text/html"}, b"<html><head><title>x</title></head><h1>Back soon</h1></html>")
WEB_PAGE = Failing(200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><html><p>Welcome</p></html>")
ANONYMOUS = Failing(403, {"Content-Type": "text/plain"}, b"Set a user-agent with a contact, says our robot policy.")
PRIVATE = refusing("readapidenied", "You need to be logged in.")
CUT = Failing(cut_at=20)
STALLED = Failing(stalls=True)


class WikiServer(Wiki):
    """A wiki that listens while it is entered."""

    def __init__(self, pages: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(**details)
        self._lock = threading.RLock()
        for title, text in (pages or {}).items():
            self.edit(title, text)
        self.requests: list[Asked] = []
        self.broken: dict[str, Failing] = {}
        self.most_at_once = 0
        self._under_way = 0
        self._failing: deque[Failing] = deque()
        self._arrived = threading.Semaphore(0)
        self._released = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.wiki = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Be away from now on."""
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def api(self) -> str:
        return f"http://{self.host}{PATH}"

    def fail_next(self, *failing: Failing) -> None:
        """What the next requests meet, one each, in this order. Those after them are answered."""
        self._failing.extend(failing)

    def release(self) -> None:
        """Let those go on that stall, now and later."""
        self._released.set()

    def wait_for_requests(self, number: int) -> None:
        """Wait until so many more requests have come in."""
        for _ in range(number):
            self._arrived.acquire()

    def edit(self, title: str, text: str) -> int:
        with self._lock:
            return super().edit(title, text)

    def move(self, title: str, to: str, *, redirect: bool = True) -> None:
        with self._lock:
            super().move(title, to, redirect=redirect)

    def delete(self, title: str) -> None:
        with self._lock:
            super().delete(title)

    @contextmanager
    def handling(self, asked: Asked) -> Iterator[Failing]:
        """Note a request, and say what it is to meet."""
        with self._lock:
            self.requests.append(asked)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            titles = asked.parameters.get("titles", "").split("|")
            broken = next((self.broken[title] for title in titles if title in self.broken), Failing())
            failing = self._failing.popleft() if self._failing else broken
        self._arrived.release()
        try:
            if failing.stalls:
                self._released.wait()
            yield failing
        finally:
            with self._lock:
                self._under_way -= 1

    def said(self, parameters: Parameters) -> str:
        with self._lock:
            return json.dumps(self.answer(parameters), ensure_ascii=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    wiki: WikiServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, query: str) -> None:
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        with self.server.wiki.handling(Asked(self.command, parameters, dict(self.headers.items()))) as failing:
            if urlsplit(self.path).path != PATH:
                failing = Failing(404, {"Content-Type": "text/html"}, b"<h1>Not found</h1>")  # noqa: PLW2901
            body = failing.body
            if body is None:
                body = self.server.wiki.said(parameters).encode(failing.charset)
        try:  # who has the answer may ask the next question at once, so that this one is not under way any more
            self._send(body, failing)
        except ConnectionError:
            self.close_connection = True

    def _send(self, body: bytes, failing: Failing) -> None:
        headers = {"Content-Type": f"application/json; charset={failing.charset}", **failing.headers}
        if failing == Failing() and "gzip" in self.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1)
        headers["Content-Length"] = str(len(body) + failing.off)
        self.send_response(failing.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: failing.cut_at])
        self.wfile.flush()
        self.close_connection = self.close_connection or failing.cut_at is not None or failing.off != 0

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  its name in the library
        pass
