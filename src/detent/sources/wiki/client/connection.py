"""The way to a wiki's API: a question goes over HTTP, and an answer comes back, or an error that says why not."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx

from detent.knowledge import Wait
from detent.lifecycle import Trouble
from detent.services.schemes import speaks_no_tls, wants_tls
from detent.sources.wiki.client.address import read_address
from detent.sources.wiki.client.failure import RIGHT_ADDRESS, WikiFailed, failed_answer, left_alone, refused

Turn = Callable[[str], Awaitable[Wait | None]]
"""Waits until a host may be asked again, and returns None; or says for how long it is to be left alone."""

Hold = Callable[[WikiFailed, int], Awaitable[None]]
"""Leaves a host alone for as long as a failure calls for, the last of so many in a row."""

Again = Callable[[WikiFailed, int], Awaitable[bool]]
"""Says whether a question is asked again that has failed so many times."""

LARGEST_ANSWER = 200_000_000
"""Bytes of an answer that are read. A wiki's own limit is 8 MB, unless someone raised it."""

LONGEST_ADDRESS = 6_000
"""Characters of a GET request's address. Servers take 8,000; a longer question is posted."""

MOST_AT_ONCE = 2
"""Requests of one process to one host at the same time; Wikimedia's limit is three for all that somebody does."""

_CONNECT_SECONDS = 10.0
"""How long a connection is waited for: less than who stops waits for what is under way."""
_LARGEST_REFUSAL = 65_536
_PATIENCE = 10
"""A whole answer may take so many times as long as a wait for its next bytes."""

_BROKEN = (httpx.ReadError, httpx.RemoteProtocolError)

_gates: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = {}


class _Reply(NamedTuple):
    status: int
    headers: httpx.Headers
    charset: str | None
    body: bytes


class Connection:
    """The API at an address. What stands before an `@` in it is sent along, and not told to anyone else."""

    def __init__(
        self,
        api: str,
        agent: str,
        turn: Turn | None,
        hold: Hold | None = None,
        again: Again | None = None,
        *,
        timeout_seconds: float,
    ) -> None:
        url = read_address(api)
        # Apart from the address, which is what libraries write into logs.
        self._auth = httpx.BasicAuth(url.username, url.password) if url.userinfo else None
        self._url = url.copy_with(username="", password="")
        self._turn, self._hold, self._again = turn, hold, again
        self.failed_in_a_row = 0
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = min(timeout_seconds, _CONNECT_SECONDS)
        name = " ".join(f"{agent} httpx/{httpx.__version__}".split())
        self._headers = [(b"User-Agent", name.encode(errors="replace"))]
        self._secured = False
        self._client = self._new()
        self._users: Counter[httpx.AsyncClient] = Counter()

    @property
    def address(self) -> str:
        """Where the API is, without what is secret in it."""
        return self._by(self._url.scheme)

    @property
    def host(self) -> str:
        return self._url.netloc.decode()

    async def ask(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The wiki's answer, which is not an error."""
        failed = 0
        while True:
            try:
                return await self._asked(parameters)
            except WikiFailed as error:
                failed += 1
                if self._again is None or not await self._again(error, failed):
                    raise

    async def _asked(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a question that is asked once, when no more than one other is under way. Nobody else is let go
        before a failure is told."""
        async with _gate(self.host):
            try:
                return await self._answered(parameters)
            except WikiFailed as error:
                await self.leave_alone(error)
                raise

    async def leave_alone(self, error: WikiFailed) -> None:
        """Ask nothing for a while because of this failure, if that is not so already."""
        if not error.held and not error.told:
            error.told = True
            self.failed_in_a_row += 1
            if self._hold is not None:
                await self._hold(error, self.failed_in_a_row)

    async def _answered(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        async with self._sending() as client:
            reply = await self._exchange(client, parameters)
            if (secure := _secure(self._url, reply)) is not None:
                self._url, self._secured = secure, True
                reply = await self._exchange(client, parameters)
            if reply.status != httpx.codes.OK:
                raise self._refused(reply)
            try:
                answer = self._decoded(reply)
            except WikiFailed:
                # More may come on that connection, which would be taken for the next answer.
                if client is self._client:
                    self._client = self._new()
                raise
        failure = failed_answer(self.address, answer, reply.headers)
        if failure is not None:
            raise failure
        return answer

    def _new(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=MOST_AT_ONCE, keepalive_expiry=30)
        timeout = httpx.Timeout(self._timeout_seconds, connect=self._connect_seconds)
        return httpx.AsyncClient(auth=self._auth, headers=self._headers, timeout=timeout, limits=limits)

    @asynccontextmanager
    async def _sending(self) -> AsyncIterator[httpx.AsyncClient]:
        """What requests are sent with. If another one has taken its place meanwhile, the last who has it closes it."""
        client = self._client
        self._users[client] += 1
        try:
            yield client
        finally:
            self._users[client] -= 1
            if client is not self._client and not self._users[client]:
                del self._users[client]
                await client.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

    def failure(self, what: str, trouble: Trouble) -> WikiFailed:
        return WikiFailed(self.address, what, trouble)

    async def _exchange(self, client: httpx.AsyncClient, parameters: Mapping[str, str]) -> _Reply:
        """Send a question and read what comes back, when it is our turn."""
        if self._turn is not None and (wait := await self._turn(self.host)) is not None:
            raise left_alone(self.address, wait)
        try:
            async with asyncio.timeout(self._timeout_seconds * _PATIENCE):
                return await self._receive(client, parameters)
        except httpx.HTTPError as error:
            raise self._unanswered(error) from None
        except TimeoutError:
            slow = f"did not end its answer within {self._timeout_seconds * _PATIENCE:g} seconds"
            raise self.failure(slow, Trouble.TIMEOUT) from None

    def _unanswered(self, error: httpx.HTTPError) -> WikiFailed:
        """Why there is no answer. A wiki that could not even be asked is away."""
        if isinstance(error, httpx.DecodingError):
            return self.failure("gave an answer that was damaged on its way", Trouble.NETWORK)
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, httpx.ConnectError) and not str(error) and self._url.scheme == "https":
            reason = "it closed the connection when greeted over https"
        if isinstance(error, httpx.ConnectTimeout):
            reason = f"there was no connection within {self._connect_seconds:g} seconds"
        elif isinstance(error, httpx.TimeoutException):
            return self.failure(f"did not answer within {self._timeout_seconds:g} seconds", Trouble.TIMEOUT)
        if speaks_no_tls(error):
            instead = "" if self._secured else f"; try {self._by('http')}"
            return self.failure(f"does not speak https there{instead}", Trouble.REJECTED)
        if isinstance(error, _BROKEN):
            return self.failure(f"broke off its answer: {reason}", Trouble.NETWORK)
        failure = self.failure(f"cannot be reached: {reason}", Trouble.NETWORK)
        failure.away = True
        return failure

    def _by(self, scheme: str) -> str:
        return f"{scheme}://{self.host}{self._url.path}"

    async def _receive(self, client: httpx.AsyncClient, parameters: Mapping[str, str]) -> _Reply:
        body = bytearray()
        async with client.stream(**self._request(parameters)) as response:
            success = response.status_code == httpx.codes.OK
            async for piece in response.aiter_bytes():
                body += piece
                if not success and len(body) > _LARGEST_REFUSAL:
                    break
                if len(body) > LARGEST_ANSWER:
                    size = f"{LARGEST_ANSWER / 1_000_000:,.0f} MB"
                    raise self.failure(f"gave an answer of more than {size}, which was not read", Trouble.MALFORMED)
        return _Reply(response.status_code, response.headers, response.charset_encoding, bytes(body))

    def _request(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        if sum(map(len, parameters.values())) <= LONGEST_ADDRESS:
            url = self._url.copy_merge_params(dict(parameters))
            if len(str(url)) <= LONGEST_ADDRESS:
                return {"method": "GET", "url": url}
        # Without this promise, Wikimedia sends what is posted to the one data centre that may write.
        promise = {"Promise-Non-Write-API-Action": "true"}
        return {"method": "POST", "url": self._url, "data": dict(parameters), "headers": promise}

    def _refused(self, reply: _Reply) -> WikiFailed:
        """What another status than that of success means. Behind it may be an error as a wiki tells it."""
        if self._url.scheme == "http" and wants_tls(reply.status, reply.body):
            return self.failure(f"speaks https there; try {self._by('https')}", Trouble.REJECTED)
        failure = refused(self.address, reply.status, reply.headers, reply.body)
        try:
            answer = json.loads(reply.body)
        except (ValueError, RecursionError):
            return failure
        told = failed_answer(self.address, answer, reply.headers) if isinstance(answer, dict) else None
        return told if told is not None and (told.trouble.transient or not failure.trouble.transient) else failure

    def _decoded(self, reply: _Reply) -> dict[str, Any]:
        try:
            answer = _parsed(reply)
        except (ValueError, LookupError, RecursionError):
            raise self._unreadable(reply.body) from None
        if answer == []:  # what PHP writes for nothing
            return {}
        if not isinstance(answer, dict):
            raise self._unreadable(reply.body)
        return answer

    def _unreadable(self, body: bytes) -> WikiFailed:
        beginning = body[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        if not beginning or beginning[:1] in b"{[":
            return self.failure("gave an answer that is cut off or damaged", Trouble.NETWORK)
        page = "a web page" if beginning[:1] == b"<" else "something else"
        asks = f"answers with {page}, and not as the API of a MediaWiki. {RIGHT_ADDRESS}"
        failure = self.failure(asks, Trouble.MALFORMED)
        failure.away = True  # something else answers in its place, perhaps for a while only
        return failure


def _gate(host: str) -> asyncio.Semaphore:
    """What all clients of this process go through that ask a host, two at a time. Each event loop has its own."""
    loop = asyncio.get_running_loop()
    if loop not in _gates:
        for ended in [each for each in _gates if each.is_closed()]:
            del _gates[ended]
    return _gates.setdefault(loop, {}).setdefault(host, asyncio.Semaphore(MOST_AT_ONCE))


def _secure(url: httpx.URL, reply: _Reply) -> httpx.URL | None:
    """The address to use from now on, if the wiki only wants to be asked the same over https."""
    if url.scheme != "http" or not httpx.codes.is_redirect(reply.status):
        return None
    try:
        target = url.join(reply.headers.get("Location", ""))
    except httpx.InvalidURL:
        return None
    if (target.scheme, target.host, target.path) != ("https", url.host, url.path):
        return None
    return url.copy_with(scheme="https", port=target.port)


def _parsed(reply: _Reply) -> Any:
    """The value that was sent as JSON. That is UTF-8, whatever is said of it; what is not, is what is said."""
    try:
        return json.loads(reply.body)
    except UnicodeDecodeError:
        return json.loads(reply.body.decode(reply.charset or "utf-8"))
