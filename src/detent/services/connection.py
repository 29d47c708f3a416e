"""The way to a service: a request goes over HTTP, and an answer comes back, or an error that says why not."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import httpx

from detent.lifecycle import Trouble
from detent.services.address import read_address
from detent.services.failure import ServiceFailed, left_alone, refused
from detent.services.pace import Wait
from detent.services.schemes import speaks_no_tls, wants_tls
from detent.services.secrets import Credential, hidden_in
from detent.services.signing import InQuery, headers_of

T = TypeVar("T")

Turn = Callable[[str], Awaitable[Wait | None]]
"""Waits until a host may be asked again, and returns None; or says for how long it is to be left alone."""

Hold = Callable[[ServiceFailed, int], Awaitable[None]]
"""Leaves a host alone for as long as a failure calls for, the last of so many in a row."""

Repeat = Callable[[ServiceFailed, int], Awaitable[bool]]
"""Says whether a request is asked again that has failed so many times."""

LARGEST_ANSWER = 200_000_000
"""Bytes of an answer that are read. A wiki's own limit is 8 MB, unless someone raised it."""

MOST_AT_ONCE = 2
"""Requests of one process to one host at the same time; Wikimedia's limit is three for all that somebody does."""

_CONNECT_SECONDS = 10.0
"""The time limit for a connection: less than a worker that stops waits for what is under way."""
_LARGEST_REFUSAL = 65_536
_MOST_REDIRECTS = 3
_PATIENCE = 10
"""A whole answer may take so many times as long as a wait for its next bytes."""

_JSON = {"Accept": "application/json"}
_BROKEN = (httpx.ReadError, httpx.RemoteProtocolError)

_gates: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = {}


@dataclass(frozen=True)
class Request:
    """A request: a path below the service's address, or a whole address at the same host, as in a link to the next
    page; parameters in the address; and a form or a value in JSON, which is posted. `follows`: redirects within the
    host are followed."""

    path: str = ""
    parameters: Mapping[str, str | int | Sequence[str]] = field(default_factory=dict)
    form: Mapping[str, str] | None = None
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    follows: bool = False

    @property
    def method(self) -> str:
        return "GET" if self.form is None and self.value is None else "POST"


class Reply(NamedTuple):
    """A response that was read to its end, or a refusal as far as it is of use."""

    status: int
    headers: httpx.Headers
    charset: str | None
    body: bytes


class Connection:
    """A service at an address, which is asked at its own pace and not by too many at once.

    `turn` is waited for before each request, `hold` is told of each failure before anybody else may ask, and `again`
    says whether a request that failed is repeated; without it, none is. A password in the address and the credential
    are sent along, and stand in no error and no log. A subclass names its own `error`.
    """

    error: ClassVar[type[ServiceFailed]] = ServiceFailed
    expected: ClassVar[str] = "in JSON"
    """The form of an answer, as in: answers with a web page, and not in JSON."""
    shape: ClassVar[str] = "that was not expected"
    """The shape of a wrong answer, as in: gave an answer of a shape that was not expected."""

    def __init__(
        self,
        address: str | httpx.URL,
        agent: str,
        turn: Turn | None = None,
        hold: Hold | None = None,
        again: Repeat | None = None,
        *,
        credential: Credential | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        url = read_address(address, error=self.error) if isinstance(address, str) else address
        # Apart from the address, which is what libraries write into logs.
        self._url = url.copy_with(username="", password="")
        self._turn, self._hold, self._again = turn, hold, again
        self.failed_in_a_row = 0
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = min(timeout_seconds, _CONNECT_SECONDS)
        self._headers = headers_of(agent, url, credential)
        self._signing = InQuery(credential) if credential is not None and credential.place == "query" else None
        self._secrets = (url.password, credential.value if credential is not None else "")
        self._secured = False
        self._client = self._new()
        self._users: Counter[httpx.AsyncClient] = Counter()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

    @property
    def address(self) -> str:
        """The service's address, without what is secret in it."""
        return self._by(self._url.scheme)

    @property
    def host(self) -> str:
        """The host that is asked, and its port where that is not the usual one."""
        return self._url.netloc.decode()

    async def get(self, path: str = "", parameters: Mapping[str, str | int | Sequence[str]] | None = None) -> Any:
        """The value that the service sends in JSON."""
        return await self._whole(Request(path, parameters or {}, headers=_JSON), self.read_json)

    async def post(self, path: str, value: Any) -> Any:
        """The value that the service sends in JSON to one that is posted to it in JSON."""
        return await self._whole(Request(path, value=value, headers=_JSON), self.read_json)

    async def fetch(self, path: str, *, accept: str = "*/*") -> bytes:
        """The bytes that are there, also where the service has moved them within its host."""
        return await self._whole(Request(path, headers={"Accept": accept}, follows=True), lambda reply: reply.body)

    async def _whole(self, request: Request, read: Callable[[Reply], T]) -> T:
        answer = await self.ask(request, read)
        self.failed_in_a_row = 0
        return answer

    async def ask(self, request: Request, read: Callable[[Reply], T]) -> T:
        """The answer to a request as `read` makes it of the reply. If it raises, the service is left alone, and the
        request repeated where that is worth it."""
        failed = 0
        while True:
            try:
                return await self._asked(request, read)
            except ServiceFailed as error:
                failed += 1
                if self._again is None or not await self._again(error, failed):
                    raise

    async def leave_alone(self, error: ServiceFailed) -> None:
        """Ask nothing for a while because of this failure, if that is not so already."""
        if not error.held and not error.told:
            error.told = True
            self.failed_in_a_row += 1
            if self._hold is not None:
                await self._hold(error, self.failed_in_a_row)

    @asynccontextmanager
    async def leaving_alone(self) -> AsyncIterator[None]:
        """Leave the service alone for a while, whatever fails: also if an answer came, and is of no use."""
        try:
            yield
        except ServiceFailed as error:
            await self.leave_alone(error)
            raise
        self.failed_in_a_row = 0

    @contextmanager
    def understanding(self) -> Iterator[None]:
        """Raise a failure where an answer, which may have any shape, does not have the one that is read."""
        try:
            yield
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            wrong = f"gave an answer of a shape {self.shape} ({type(error).__name__}: {error})"
            raise self.failure(wrong, Trouble.MALFORMED) from error

    def failure(self, what: str, trouble: Trouble, *, away: bool = False) -> ServiceFailed:
        failure = self.error(self.address, what, trouble)
        failure.away |= away
        failure.hide(self._secrets)
        return failure

    def read_json(self, reply: Reply) -> Any:
        """The value that was sent as JSON. That is UTF-8, whatever is said of it; what is not, is what is said."""
        try:
            try:
                return json.loads(reply.body)
            except UnicodeDecodeError:
                return json.loads(reply.body.decode(reply.charset or "utf-8"))
        except (ValueError, LookupError, RecursionError):
            raise self.unreadable(reply) from None

    def unreadable(self, reply: Reply) -> ServiceFailed:
        """The failure that an answer means which does not have the form that is expected."""
        beginning = reply.body[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        if not beginning or beginning[:1] in b"{[":
            return self.failure("gave an answer that is cut off or damaged", Trouble.NETWORK)
        page = "a web page" if beginning[:1] == b"<" else "something else"
        # something else answers in its place, perhaps for a while only
        return self.failure(f"answers with {page}, and not {self.expected}", Trouble.MALFORMED, away=True)

    def refused(self, reply: Reply) -> ServiceFailed:
        """The failure that another status than that of success means."""
        return refused(self.error, self.address, reply.status, reply.headers, reply.body)

    async def _asked(self, request: Request, read: Callable[[Reply], T]) -> T:
        """The answer to a request that is asked once, when no more than one other is under way. Nobody else is let go
        before a failure is told."""
        async with _gate(self.host):
            try:
                return await self._answered(request, read)
            except ServiceFailed as error:
                error.hide(self._secrets)
                await self.leave_alone(error)
                raise

    async def _answered(self, request: Request, read: Callable[[Reply], T]) -> T:
        url = self._url_of(request)
        async with self._sending() as client:
            reply = await self._exchange(client, request, url)
            for _ in range(_MOST_REDIRECTS):
                leads = self._leads(request, url, reply)
                if leads is None:
                    break
                url = leads
                reply = await self._exchange(client, request, url)
            if reply.status != httpx.codes.OK:
                raise self._no_success(reply)
            try:
                return read(reply)
            except ServiceFailed as error:
                # More may come on that connection, which would be taken for the next answer.
                if error.trouble in (Trouble.NETWORK, Trouble.MALFORMED) and client is self._client:
                    self._client = self._new()
                raise

    def _url_of(self, request: Request) -> httpx.URL:
        """The whole address of a request, which is at the service's host: nobody else is sent a credential."""
        url = self._url
        if "://" in request.path:
            linked = read_address(request.path, error=self.error)
            if (linked.host, linked.port) != (url.host, url.port):
                raise self.failure(f"points to another host, {linked.host}, which is not asked", Trouble.REJECTED)
            url = url.copy_with(raw_path=linked.raw_path)
        elif request.path:
            path, _, query = request.path.partition("?")
            whole = f"{url.path.rstrip('/')}/{path.lstrip('/')}"
            url = url.copy_with(path=whole, query=query.encode() or url.query or None)
        return url.copy_merge_params(dict(request.parameters)) if request.parameters else url

    def _leads(self, request: Request, url: httpx.URL, reply: Reply) -> httpx.URL | None:
        """The address to which a redirect leads that is followed: to the same over https, and from then on all is asked
        so; or within the host, where that is wanted."""
        if not httpx.codes.is_redirect(reply.status):
            return None
        try:
            target = url.join(reply.headers.get("Location", ""))
        except httpx.InvalidURL:
            return None
        if (url.scheme, target.scheme, target.host, target.path) == ("http", "https", url.host, url.path):
            self._url, self._secured = self._url.copy_with(scheme="https", port=target.port), True
            return url.copy_with(scheme="https", port=target.port)
        within = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
        return target.copy_with(fragment=None) if request.follows and within else None

    def _new(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=MOST_AT_ONCE, keepalive_expiry=30)
        timeout = httpx.Timeout(self._timeout_seconds, connect=self._connect_seconds)
        return httpx.AsyncClient(auth=self._signing, headers=self._headers, timeout=timeout, limits=limits)

    @asynccontextmanager
    async def _sending(self) -> AsyncIterator[httpx.AsyncClient]:
        """The client that requests are sent with. If another one has taken its place meanwhile, the last who has it
        closes it."""
        client = self._client
        self._users[client] += 1
        try:
            yield client
        finally:
            self._users[client] -= 1
            if client is not self._client and not self._users[client]:
                del self._users[client]
                await client.aclose()

    async def _exchange(self, client: httpx.AsyncClient, request: Request, url: httpx.URL) -> Reply:
        """Send a request and read what comes back, when it is our turn."""
        if self._turn is not None and (wait := await self._turn(self.host)) is not None:
            raise left_alone(self.error, self.address, wait)
        try:
            async with asyncio.timeout(self._timeout_seconds * _PATIENCE):
                return await self._receive(client, request, url)
        except httpx.HTTPError as error:
            raise self._unanswered(error) from None
        except TimeoutError:
            slow = f"did not end its answer within {self._timeout_seconds * _PATIENCE:g} seconds"
            raise self.failure(slow, Trouble.TIMEOUT) from None

    async def _receive(self, client: httpx.AsyncClient, request: Request, url: httpx.URL) -> Reply:
        body = bytearray()
        sent = client.build_request(request.method, url, data=request.form, json=request.value, headers=request.headers)
        response = await client.send(sent, stream=True)
        try:
            success = response.status_code == httpx.codes.OK
            async for piece in response.aiter_bytes():
                body += piece
                if not success and len(body) > _LARGEST_REFUSAL:
                    break
                if len(body) > LARGEST_ANSWER:
                    size = f"{LARGEST_ANSWER / 1_000_000:,.0f} MB"
                    raise self.failure(f"gave an answer of more than {size}, which was not read", Trouble.MALFORMED)
        finally:
            await response.aclose()
        told = bytes(body) if success else hidden_in(bytes(body), self._secrets)
        return Reply(response.status_code, response.headers, response.charset_encoding, told)

    def _unanswered(self, error: httpx.HTTPError) -> ServiceFailed:
        """The failure of an answer that did not come. A service that could not even be asked is away."""
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
            return self.failure(f"does not speak https there{instead}", Trouble.REJECTED, away=True)
        if isinstance(error, _BROKEN):
            return self.failure(f"broke off its answer: {reason}", Trouble.NETWORK)
        return self.failure(f"cannot be reached: {reason}", Trouble.NETWORK, away=True)

    def _no_success(self, reply: Reply) -> ServiceFailed:
        if self._url.scheme == "http" and wants_tls(reply.status, reply.body):
            return self.failure(f"speaks https there; try {self._by('https')}", Trouble.REJECTED, away=True)
        return self.refused(reply)

    def _by(self, scheme: str) -> str:
        return f"{scheme}://{self.host}{self._url.path}"


def _gate(host: str) -> asyncio.Semaphore:
    """The gate of a host, for all connections of this process, two at a time. Each event loop has its own."""
    loop = asyncio.get_running_loop()
    if loop not in _gates:
        for ended in [each for each in _gates if each.is_closed()]:
            del _gates[ended]
    return _gates.setdefault(loop, {}).setdefault(host, asyncio.Semaphore(MOST_AT_ONCE))
