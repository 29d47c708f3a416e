"""A wiki that answers from memory as fast as it can, in a process of its own, and a loop that asks it the same again.

Answers have the shapes of MediaWiki's, for the question that Detent asks: some titles, with the text of each. They are
packed, as a wiki's are. So that this costs next to nothing, each page is packed once, to an end at which another one
can follow, and an answer is put together out of such pieces.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx

from benchmarks import wiki_pages
from benchmarks.wiki_crew import Meet
from detent.wikitext.site import CANONICAL

ASKED = "/asked"
"""Where the server tells the addresses that it was asked for, and forgets them."""

_GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST_BLOCK = b"\x03\x00"
_REVISION = 1_000_000
_GENERAL = {"sitename": "Benchmark", "generator": "MediaWiki 1.45.0", "case": "first-letter", "lang": "en"}


@dataclass(frozen=True)
class Contents:
    """What a server has: so many articles, of at least so many bytes. It answers after so many seconds."""

    articles: int
    least_bytes: int = 0
    delay_seconds: float = 0.0


class Manner(NamedTuple):
    """How a server is asked: so many requests at once, and in a minute; None for any number."""

    at_once: int
    per_minute: int | None


class Piece(NamedTuple):
    """A part of an answer, as it is and packed."""

    plain: bytes
    packed: bytes

    @classmethod
    def of(cls, text: str) -> Piece:
        packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        plain = text.encode()
        return cls(plain, packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH))


class Answers:
    """All that the server has to say."""

    def __init__(self, contents: Contents) -> None:
        articles = wiki_pages.joined(wiki_pages.articles(), contents.articles, contents.least_bytes)
        self._pages = {article.title: Piece.of(_page(n, article)) for n, article in enumerate(articles, 1)}
        self._site = Piece.of(json.dumps({"batchcomplete": True, "query": _site()}))
        self._open = Piece.of('{"batchcomplete":true,"query":{"pages":[')
        self._comma, self._close = Piece.of(","), Piece.of("]}}")
        self._asked: list[str] = []

    def to(self, target: str) -> bytes:
        """The body of the answer to a request for this address."""
        if target == ASKED:
            told, self._asked = self._asked, []
            return _together([Piece.of(json.dumps(told))])
        self._asked.append(target)
        parameters = parse_qs(urlsplit(target).query)
        if "titles" not in parameters:
            return _together([self._site])
        return _together(list(self._titles(parameters["titles"][0].split("|"))))

    def _titles(self, titles: Sequence[str]) -> Iterator[Piece]:
        yield self._open
        for place, title in enumerate(titles):
            if place:
                yield self._comma
            yield self._pages[title] if title in self._pages else _missing(title)
        yield self._close


class _Visitor(asyncio.Protocol):
    """One connection."""

    def __init__(self, answers: Answers, delay_seconds: float) -> None:
        self._answers = answers
        self._delay_seconds = delay_seconds
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while b"\r\n\r\n" in self._heard:
            head, _, self._heard = self._heard.partition(b"\r\n\r\n")
            method, target, _ = head.split(b" ", 2)
            if method != b"GET":
                raise RuntimeError("The server of the benchmark is only asked by GET.")
            answer = _response(self._answers.to(target.decode()))
            asyncio.get_running_loop().call_later(self._delay_seconds, self._transport.write, answer)


@contextmanager
def serving(contents: Contents) -> Iterator[str]:
    """The address of a server that answers while the block lasts."""
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(contents, there))
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def asked(address: str) -> list[str]:
    """The addresses that a server was asked for since this was asked last."""
    found: list[str] = httpx.get(address + ASKED).json()
    return found


def ask_again(conninfo: str, address: str, targets: Sequence[str], manner: Manner, meet: Meet) -> None:
    """In a process: a bare loop that sends these requests, and only reads the JSON of the answers."""
    pause = 60 / manner.per_minute if manner.per_minute else 0.0

    async def ask(client: httpx.AsyncClient, left: Iterator[tuple[int, str]], began: float) -> None:
        for number, target in left:
            await asyncio.sleep(began + number * pause - asyncio.get_running_loop().time())
            response = await client.get(target)
            json.loads(response.content)

    async def asking() -> None:
        async with httpx.AsyncClient(base_url=address, headers={"User-Agent": "benchmark"}) as client:
            meet()
            left, began = enumerate(targets), asyncio.get_running_loop().time()
            await asyncio.gather(*[ask(client, left, began) for _ in range(manner.at_once)])

    asyncio.run(asking())


def _serve(contents: Contents, ready: Connection) -> None:
    async def serve() -> None:
        answers = Answers(contents)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Visitor(answers, contents.delay_seconds), "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


def _together(pieces: Sequence[Piece]) -> bytes:
    check = size = 0
    for piece in pieces:
        check, size = zlib.crc32(piece.plain, check), size + len(piece.plain)
    return b"".join([_GZIP, *(piece.packed for piece in pieces), _LAST_BLOCK, struct.pack("<II", check, size)])


def _response(body: bytes) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Encoding: gzip\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _page(number: int, article: wiki_pages.Written) -> str:
    size, revision = len(article.text.encode()), _REVISION + number
    content = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": article.text}
    page = {
        "pageid": number,
        "ns": 0,
        "title": article.title,
        "revisions": [
            {
                "revid": revision,
                "parentid": 0,
                "timestamp": "2026-01-01T00:00:00Z",
                "size": size,
                "slots": {"main": content},
            }
        ],
        "contentmodel": "wikitext",
        "pagelanguage": "en",
        "touched": "2026-01-02T00:00:00Z",
        "lastrevid": revision,
        "length": size,
        "categories": [{"ns": 14, "title": f"Category:Pages {kind}", "hidden": True} for kind in ("seen", "kept")],
    }
    return json.dumps(page, ensure_ascii=False)


def _missing(title: str) -> Piece:
    return Piece.of(json.dumps({"ns": 0, "title": title, "missing": True, "contentmodel": "wikitext"}))


def _site() -> dict[str, Any]:
    spaces = {str(key): {"id": key, "name": name, "canonical": name} for key, name in CANONICAL.items()}
    wikis = [{"prefix": prefix, "url": f"https://{prefix}.example/$1"} for prefix in ("en", "de", "fr", "es", "w")]
    extensions = [{"type": "parserhook", "name": "Disambiguator"}]
    return {"general": _GENERAL, "namespaces": spaces, "interwikimap": wikis, "extensions": extensions}
