"""A service that is not there, speaks another protocol, is too slow, or sends too much."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.services.server import Reply, Service

from detent.lifecycle import Trouble
from detent.services import connection
from detent.services.connection import Connection
from detent.services.failure import ServiceFailed


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


async def failure(address: str, **details: Any) -> ServiceFailed:
    async with Connection(address, "Tester", **details) as asking:
        with pytest.raises(ServiceFailed) as failed:
            await asking.get()
    return failed.value


async def test_a_service_that_takes_too_long_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.replies.extend([Reply(stalls=True)] * 2)
    error = await failure(service.address, timeout_seconds=0.05)
    assert error.trouble is Trouble.TIMEOUT
    assert "did not answer within 0.05 seconds" in str(error)
    monkeypatch.setattr(connection, "_PATIENCE", 0.001)
    error = await failure(service.address, timeout_seconds=20)
    assert error.trouble is Trouble.TIMEOUT
    assert "did not end its answer within 0.02 seconds" in str(error)


async def test_a_host_where_nobody_listens_cannot_be_reached() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v3"
        error = await failure(address)
    assert (error.trouble, error.away) == (Trouble.NETWORK, True)
    assert f"The service {address} cannot be reached:" in str(error)


async def test_a_host_that_takes_no_call_is_away() -> None:
    with socket.socket() as busy, socket.socket() as first, socket.socket() as second:
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(busy.getsockname())
        error = await failure(f"http://127.0.0.1:{busy.getsockname()[1]}/v3", timeout_seconds=0.2)
    assert (error.trouble, error.away) == (Trouble.NETWORK, True)
    assert "cannot be reached: there was no connection within 0.2 seconds" in str(error)


@pytest.mark.parametrize(
    "address",
    [
        *("", "service", "ftp://me:hunter2@service.example/v3", "http://", "http://[::1"),
        *(f"https://me:hunter2{sign}2@service.example/v3" for sign in "/?#[]"),
        "https://me:22/hunter2@service.example/v3",
        "https://me:22@hunter2#2@service.example/v3",
        "https://service.example:99999/v3",
        "https://me:hunter2",
    ],
)
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ServiceFailed) as failed:
        Connection(address, "Tester")
    assert failed.value.trouble is Trouble.REJECTED
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("address", ["https://me:%2Fhunter2@service.example/v3", "https://service.example/@birds/v3"])
def test_an_address_may_have_a_password_or_a_sign_that_is_written_so(address: str) -> None:
    assert "hunter2" not in Connection(address, "Tester").address


async def test_an_address_with_https_where_http_is_spoken_is_told_with_the_right_one(service: Service) -> None:
    error = await failure(service.address.replace("http:", "https:"))
    assert (error.trouble, error.away) == (Trouble.REJECTED, True)
    assert f"does not speak https there; try {service.address}." in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n<h1>The plain HTTP request was sent to HTTPS port</h1>",
        b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\nReason: You're speaking plain HTTP to an SSL-enabled server port.",
    ],
)
async def test_an_address_with_http_where_https_is_spoken_is_told_with_the_right_one(answer: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        error = await failure(f"http://{host}/v3")
    assert f"The service http://{host}/v3 speaks https there; try https://{host}/v3." in str(error)


async def test_an_answer_without_end_is_not_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LARGEST_ANSWER", 1_000_000)
    service.replies.append(Reply(200, gzip.compress(b" " * 5_000_000), {"Content-Encoding": "gzip"}))
    error = await failure(service.address)
    assert error.trouble is Trouble.MALFORMED
    assert "more than 1 MB" in str(error)


async def test_little_is_read_and_told_of_a_long_refusal(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LARGEST_ANSWER", 1_000_000)
    service.replies.append(Reply(500, b"<p>" + b"word " * 1_000_000))
    error = await failure(service.address)
    assert error.trouble is Trouble.SERVER
    assert len(str(error)) < 500
