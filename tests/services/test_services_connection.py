"""Asking a service: the question that is sent, the value that comes back, and what is said when none does."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.server import Reply, Service

from detent.lifecycle import Trouble
from detent.services.connection import Connection, Request
from detent.services.failure import ServiceFailed, refused, said
from detent.services.secrets import Credential
from detent.worker.outcomes import outcome_of

KEY = "hunter2/secret key"
IN_QUERY = Credential("api_key", KEY, place="query")
IN_HEADER = Credential("Authorization", KEY, prefix="Token ")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def told(status: int, value: object, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), named)


async def failure(service: Service, *replies: Reply, path: str = "bills", **details: Any) -> ServiceFailed:
    service.replies.extend(replies)
    async with Connection(service.address, "Tester/1", **details) as connection:
        with pytest.raises(ServiceFailed) as failed:
            await connection.get(path)
    return failed.value


async def test_pages_are_asked_for_by_path_and_by_the_link_to_the_next(service: Service) -> None:
    link = f"{service.address}/bills?offset=2&sort=updateDate desc"
    service.replies.extend([told(200, {"next": link}), told(200, {"next": None})])
    async with Connection(service.address, "Tester/1 (me@example.org)") as connection:
        page = await connection.get("bills/118", {"limit": 2, "subject": ["tax", "trade"]})
        assert await connection.get(page["next"]) == {"next": None}
    first, second = service.asked
    assert first.target == "/v3/bills/118?limit=2&subject=tax&subject=trade"
    assert second.target == "/v3/bills?offset=2&sort=updateDate%20desc"
    assert first.headers["User-Agent"].startswith("Tester/1 (me@example.org) httpx/")
    assert first.headers["Accept"] == "application/json"


async def test_a_value_is_posted_and_bytes_are_fetched_where_they_were_moved_to(service: Service) -> None:
    moved = Reply(301, b"", {"Location": "/v3/clusters/2?full=1"})
    service.replies.extend([told(200, ["found"]), moved, Reply(200, b"\x00PDF")])
    async with Connection(service.address, "Tester") as connection:
        assert await connection.post("search", {"query": "tax"}) == ["found"]
        assert await connection.fetch("clusters/1", accept="application/pdf") == b"\x00PDF"
    assert [(each.method, each.target) for each in service.asked] == [
        ("POST", "/v3/search"),
        ("GET", "/v3/clusters/1"),
        ("GET", "/v3/clusters/2?full=1"),
    ]
    assert json.loads(service.asked[0].body) == {"query": "tax"}


@pytest.mark.parametrize(
    ("reply", "trouble", "wait", "away", "words"),
    [
        (
            told(429, {"detail": "Expected in 7 s."}, Retry_After="7"),
            Trouble.RATE_LIMITED,
            7,
            True,
            "429 Too Many Requ",
        ),
        (told(429, {"detail": "exceeded limit of 10/min: 11"}), Trouble.RATE_LIMITED, None, True, "limit of 10/min"),
        (told(503, {"message": "Generating ZIP"}, Retry_After="30"), Trouble.SERVER, 30, True, "Generating ZIP."),
        (told(401, {"detail": "Invalid API Key."}), Trouble.FORBIDDEN, None, True, "Unauthorized: Invalid API Key."),
        (
            told(403, {"error": {"code": "SEALED", "message": "No."}}),
            Trouble.FORBIDDEN,
            None,
            False,
            "den: No.",
        ),
        (told(404, {"error": "Unknown resource: bill/6"}), Trouble.NOT_FOUND, None, False, "Unknown resource: bill/6."),
        (
            told(400, {"detail": "Unknown filter", "more": []}),
            Trouble.REJECTED,
            None,
            False,
            "Bad Request: Unknown fil",
        ),
        (told(422, {"detail": [{"loc": [], "msg": "no date"}]}), Trouble.REJECTED, None, False, "Entity: no date."),
        (told(500, {"count": 0}), Trouble.SERVER, None, False, "refused with 500 Internal Server Error."),
        (Reply(500, b"<title>x</title><h1>Oh no</h1>"), Trouble.SERVER, None, False, "Error: x Oh no."),
        (
            Reply(302, b"", {"Location": "/login?next=v3"}),
            Trouble.REJECTED,
            None,
            True,
            "points to /login; is that its",
        ),
        (Reply(407, b""), Trouble.REJECTED, None, True, "refused with 407 Proxy Authentication Required."),
        (
            Reply(200, b"<html>Log in</html>"),
            Trouble.MALFORMED,
            None,
            True,
            "answers with a web page, and not in JSON.",
        ),
        (Reply(200, b'{"bills": ['), Trouble.NETWORK, None, False, "cut off or damaged"),
    ],
)
async def test_a_failure_says_what_it_is_when_to_ask_again_and_whether_the_question_may_be_to_blame(
    service: Service, *, reply: Reply, trouble: Trouble, wait: float | None, away: bool, words: str
) -> None:
    error = await failure(service, reply)
    assert (error.trouble, error.retry_after, error.away) == (trouble, wait, away)
    assert words in str(error)
    assert str(error).startswith(f"The service {service.address} ")


async def test_a_handler_that_lets_a_failure_pass_is_tried_again_as_the_service_asks(service: Service) -> None:
    outcome = outcome_of(await failure(service, told(429, {"detail": "Slow down."}, Retry_After="90")))
    assert (outcome.trouble, outcome.retry_after, outcome.blameless) == (Trouble.RATE_LIMITED, 90, True)
    assert outcome.reason == f"The service {service.address} refused with 429 Too Many Requests: Slow down."


@pytest.mark.parametrize("credential", [IN_QUERY, IN_HEADER])
async def test_a_credential_is_sent_and_stands_in_no_error_and_no_log(
    service: Service, credential: Credential, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echoed = f"x{'x ' * 140}{KEY} {service.address}?api_key=hunter2%2Fsecret+key"
    error = await failure(service, told(403, {"error": {"code": "BAD", "message": echoed}}), credential=credential)
    assert error.code == "BAD"
    [asked] = service.asked
    if credential is IN_QUERY:
        assert asked.target == "/v3/bills?api_key=hunter2%2Fsecret+key"
    else:
        assert asked.headers["Authorization"] == f"Token {KEY}"
    assert service.host in caplog.text
    assert "hunter2" not in f"{error} {error!r} {error.what} {caplog.text} {credential}"
    assert "***" in str(error)


async def test_a_link_to_another_host_is_not_asked_and_is_sent_no_credential(service: Service) -> None:
    with Service() as other:
        error = await failure(service, path=f"{other.address}/bills", credential=IN_HEADER)
    assert (error.trouble, other.asked, service.asked) == (Trouble.REJECTED, [], [])
    assert "points to another host" in str(error)


async def test_a_redirect_to_another_host_is_not_followed(service: Service) -> None:
    with Service() as other:
        service.replies.append(Reply(302, b"", {"Location": f"{other.address}/file"}))
        async with Connection(service.address, "Tester", credential=IN_QUERY) as connection:
            with pytest.raises(ServiceFailed, match="points to http"):
                await connection.fetch("file")
    assert other.asked == []


async def test_redirects_that_lead_in_a_circle_are_given_up(service: Service) -> None:
    service.replies.extend([Reply(302, b"", {"Location": "/v3/file"})] * 9)
    async with Connection(service.address, "Tester") as connection:
        with pytest.raises(ServiceFailed, match="answers with 302 Found"):
            await connection.fetch("file")
    assert len(service.asked) == 4


async def test_each_request_waits_for_its_turn_and_each_failure_is_told_until_one_is_answered(service: Service) -> None:
    events: list[str] = []

    async def turn(host: str) -> None:
        events.append(f"turn at {host}")

    async def hold(error: ServiceFailed, failed_in_a_row: int) -> None:
        events.append(f"failure {failed_in_a_row}: {error.trouble.value}")

    async def again(error: ServiceFailed, failed: int) -> bool:
        return failed < 3

    service.replies.extend([Reply(500), Reply(429), Reply(), Reply(503)])
    async with Connection(service.address, "Tester", turn, hold, again) as connection:
        assert await connection.get() == {}
        assert await connection.get() == {}
    asked = f"turn at {service.host}"
    failures = ["failure 1: server", "failure 2: rate_limited", "failure 1: server"]
    assert events == [asked, failures[0], asked, failures[1], asked, asked, failures[2], asked]


async def test_an_answer_of_another_shape_than_is_read_is_a_failure_for_which_the_service_is_left_alone(
    service: Service,
) -> None:
    held: list[Trouble] = []

    async def hold(error: ServiceFailed, failed_in_a_row: int) -> None:
        held.append(error.trouble)

    service.replies.append(told(200, {"results": None}))
    async with Connection(service.address, "Tester", hold=hold) as connection:
        with pytest.raises(ServiceFailed, match="of a shape that was not expected"):
            async with connection.leaving_alone():
                answer = await connection.get()
                with connection.understanding():
                    answer["results"][0]
    assert held == [Trouble.MALFORMED]


async def test_what_is_read_of_a_reply_may_be_anything(service: Service) -> None:
    service.replies.append(Reply(200, b"a,b\n1,2\n"))
    async with Connection(service.address, "Tester") as connection:
        rows = await connection.ask(Request("rows.csv"), lambda reply: reply.body.decode().splitlines())
    assert rows == ["a,b", "1,2"]


async def test_two_connections_to_one_host_do_not_ask_more_than_two_questions_at_once(service: Service) -> None:
    under_way: list[int] = []
    busy = 0

    async def turn(host: str) -> None:
        nonlocal busy
        busy += 1
        under_way.append(busy)
        for _ in range(10):  # as long as whoever waits needs to go
            await asyncio.sleep(0)
        busy -= 1

    async with Connection(service.address, "One", turn) as one, Connection(service.address, "Two", turn) as two:
        await asyncio.gather(*[each.get() for each in [one, two] * 3])
    assert max(under_way) == 2


@given(st.integers(100, 999).filter(lambda status: status != 200), st.binary(max_size=60), st.text(max_size=20))
def test_whatever_is_refused_can_be_told_on(status: int, body: bytes, header: str) -> None:
    found = refused(ServiceFailed, "here", status, {"Retry-After": header, "Location": header}, body)
    assert "\n" not in str(found)
    assert found.trouble.transient == (status >= 500 or status in (408, 425, 429))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["error", "detail", "x"]), inner),
)


@given(JSON)
def test_any_json_has_a_reason_or_none(value: object) -> None:
    assert isinstance(said(json.dumps(value).encode()), str)
