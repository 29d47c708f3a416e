"""A service on a socket, which answers with whatever a test gives it.

with Service(Reply(200, b'{"bills": []}'), Reply(429, b"", {"Retry-After": "7"})) as service:
    service.address                     # where it is asked
    service.asked                       # the requests that came in
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self


@dataclass(frozen=True)
class Reply:
    """An answer. One that `stalls` is not sent until the service ends."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    stalls: bool = False


class Asked(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Service:
    """A service that listens while it is entered. Once its replies are used up, it answers `{}`."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = deque(replies)
        self.asked: list[Asked] = []
        self.ending = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def address(self) -> str:
        return f"http://{self.host}/v3"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: Service


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:
        service = self.server.service
        service.asked.append(Asked(self.command, self.path, dict(self.headers.items()), body))
        reply = service.replies.popleft() if service.replies else Reply()
        if reply.stalls:
            service.ending.wait()
        try:  # whoever asked may have gone
            self._send(reply)
        except ConnectionError:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  its name in the library
        pass
