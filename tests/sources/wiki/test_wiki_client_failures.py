"""What a wiki that does not answer comes to: which trouble it is, when it is worth asking again, and what is said."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki.server import (
    ANONYMOUS,
    AWAY,
    CUT,
    LAGGED,
    PRIVATE,
    STALLED,
    WEB_PAGE,
    Failing,
    WikiServer,
    limited,
    refusing,
)

from detent.errors import DetentError
from detent.lifecycle import Trouble
from detent.lifecycle.retry import LONGEST_WAIT_SECONDS
from detent.sources.wiki.client import Client, WikiFailed
from detent.sources.wiki.client.failure import failed_answer, refused
from detent.sources.wiki.pages import Page

TEXT = "Ein Kätzchen für 5 €."
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer({"Cat": TEXT} | {f"Page {number}": "Text." for number in range(120)}) as running:
        yield running


@pytest.fixture
async def client(wiki: WikiServer) -> AsyncIterator[Client]:
    async with Client(wiki.api, "Tester/1 (tester@example.org)") as opened:
        yield opened


async def failure(client: Client) -> WikiFailed:
    with pytest.raises(WikiFailed) as failed:
        await client.fetch(["Cat"])
    return failed.value


def told(body: Any) -> Failing:
    return Failing(body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("failing", "trouble", "wait", "words"),
    [
        (LAGGED, Trouble.SERVER, 5.0, "is behind with its copies, and asks to wait: Waiting for a copy"),
        (refusing("maxlag", "Waiting"), Trouble.SERVER, 5.0, "asks to wait"),
        (refusing("maxlag", "Waiting", {"Retry-After": "90"}), Trouble.SERVER, 90.0, "asks to wait"),
        (Failing(503, LAGGED.headers, LAGGED.body), Trouble.SERVER, 5.0, "asks to wait"),
        (refusing("ratelimited", "Too fast."), Trouble.RATE_LIMITED, None, "ratelimited: Too fast."),
        (refusing("internal_api_error_DBQueryError", "Oh"), Trouble.SERVER, None, "internal_api_error"),
        (limited("7"), Trouble.RATE_LIMITED, 7.0, "429 Too Many Requests: Too many requests, slow down."),
        (Failing(429, {}, PRIVATE.body), Trouble.RATE_LIMITED, None, "429 Too Many Requests"),
        (limited(None), Trouble.RATE_LIMITED, None, "429"),
        (limited("soon"), Trouble.RATE_LIMITED, None, "429"),
        (limited("-3"), Trouble.RATE_LIMITED, None, "429"),
        (limited("9" * 400), Trouble.RATE_LIMITED, LONGEST_WAIT_SECONDS, "429"),
        (limited("Sat, 01 Jan 2000 00:00:00 GMT"), Trouble.RATE_LIMITED, 0.0, "429"),
        (limited("Fri, 31 Dec 9999 23:59:59 GMT"), Trouble.RATE_LIMITED, LONGEST_WAIT_SECONDS, "429"),
        (AWAY, Trouble.SERVER, None, "503 Service Unavailable: Back soon."),
        (Failing(503, {"Retry-After": "12"}, b""), Trouble.SERVER, 12.0, "503 Service Unavailable."),
        (Failing(500, {}, b"{"), Trouble.SERVER, None, "500"),
        (Failing(599, {}, b""), Trouble.SERVER, None, "refused with 599."),
        (Failing(408, {}, b""), Trouble.TIMEOUT, None, "408"),
        (CUT, Trouble.NETWORK, None, "broke off its answer"),
        (Failing(off=9), Trouble.NETWORK, None, "broke off its answer"),
        (Failing(off=-9), Trouble.NETWORK, None, "cut off or damaged"),
        (Failing(body=b""), Trouble.NETWORK, None, "cut off or damaged"),
        (Failing(body=b'{"query": {"pages": ['), Trouble.NETWORK, None, "cut off or damaged"),
        (Failing(body=b"[" * 100_000), Trouble.NETWORK, None, "cut off or damaged"),
        (Failing(headers={"Content-Encoding": "gzip"}, body=b"no gzip"), Trouble.NETWORK, None, "damaged on its way"),
        (WEB_PAGE, Trouble.MALFORMED, None, "answers with a web page, and not as the API of a MediaWiki. Is the"),
        (Failing(body=b"Hello"), Trouble.MALFORMED, None, "something else"),
        (told(5), Trouble.MALFORMED, None, "something else"),
        (told({"query": {"pages": [5]}}), Trouble.MALFORMED, None, "a shape that no MediaWiki has"),
        (told({"query": {"redirects": [{"from": "Cat"}]}}), Trouble.MALFORMED, None, "a shape"),
        (told({"continue": 3}), Trouble.MALFORMED, None, "a shape"),
        (ANONYMOUS, Trouble.FORBIDDEN, None, "wants to know who asks. Give a contact"),
        (Failing(403, {}, b"Go away."), Trouble.FORBIDDEN, None, "403 Forbidden: Go away."),
        (Failing(401, {}, b""), Trouble.FORBIDDEN, None, "401 Unauthorized."),
        (PRIVATE, Trouble.FORBIDDEN, None, "is private: reading needs an account"),
        (Failing(404, HTML, b"<h1>No</h1>"), Trouble.REJECTED, None, "It often ends in /w/api.php."),
        (refusing("badvalue", "No such prop."), Trouble.REJECTED, None, "badvalue: No such prop."),
        (told({"errors": [{"code": "x", "text": "Y"}]}), Trouble.REJECTED, None, "refused with x: Y."),
        (Failing(302, {"Location": "/wiki/Home?a=b"}, b""), Trouble.REJECTED, None, "points to /wiki/Home; is that"),
        (Failing(301, {}, b""), Trouble.REJECTED, None, "answers with 301 Moved Permanently."),
    ],
)
async def test_a_failure_is_told_for_what_it_is(
    wiki: WikiServer, client: Client, *, failing: Failing, trouble: Trouble, wait: float | None, words: str
) -> None:
    wiki.fail_next(failing)
    error = await failure(client)
    assert (error.trouble, error.retry_after) == (trouble, wait)
    assert words in str(error)
    assert str(error).startswith(f"The wiki {wiki.api} ")
    assert isinstance(error, DetentError)
    assert len(wiki.requests) == 1


async def test_after_any_failure_the_next_request_is_answered(wiki: WikiServer, client: Client) -> None:
    failing = [LAGGED, limited("1"), AWAY, CUT, WEB_PAGE, Failing(off=-9), ANONYMOUS]
    for each in failing:
        wiki.fail_next(each)
        await failure(client)
        assert isinstance((await client.fetch(["Cat"]))["Cat"], Page)


async def test_an_answer_that_cannot_be_used_does_not_cut_off_another_that_is_under_way(
    wiki: WikiServer, client: Client
) -> None:
    wiki.fail_next(STALLED, WEB_PAGE)
    other = asyncio.create_task(client.fetch(["Cat"]))
    await asyncio.to_thread(wiki.wait_for_requests, 1)
    await failure(client)
    wiki.release()
    assert isinstance((await other)["Cat"], Page)


async def test_a_date_to_wait_for_is_measured_by_the_clock_of_the_host(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(limited(format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)))
    wait = (await failure(client)).retry_after
    assert wait is not None
    assert 80 < wait < 100
    headers = {"Date": "Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After": "Sat, 01 Jan 2000 00:01:00 GMT"}
    assert refused("here", 429, headers, b"").retry_after == 60


def test_an_address_that_is_none_is_refused_with_one_that_is_the_api_of_a_wiki() -> None:
    with pytest.raises(WikiFailed, match=r"it looks like https://en\.wikipedia\.org/w/api\.php"):
        Client("wikipedia", "Tester")


async def test_another_path_than_that_of_the_api_is_told(wiki: WikiServer) -> None:
    async with Client(f"http://{wiki.host}/wiki/Cat", "Tester") as client:
        error = await failure(client)
    assert error.trouble is Trouble.REJECTED
    assert "has no API there (404 Not Found)" in str(error)


async def test_a_password_in_the_address_is_sent_and_not_told(
    wiki: WikiServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wiki.fail_next(AWAY)
    async with Client(wiki.api.replace("//", "//me:hunter2@"), "Tester") as client:
        error = await failure(client)
    assert wiki.host in caplog.text
    assert "hunter2" not in str(error) + caplog.text
    assert wiki.api in str(error)
    assert wiki.requests[0].headers["Authorization"].startswith("Basic ")


async def test_a_wiki_that_wants_https_is_asked_over_https(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(Failing(301, {"Location": f"https://{wiki.host}/w/api.php?action=query"}, b""))
    error = await failure(client)
    assert (error.trouble, error.away) == (Trouble.REJECTED, True)
    assert f"The wiki https://{wiki.host}/w/api.php does not speak https there." in str(error)


async def test_no_redirect_leads_to_another_host(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(Failing(301, {"Location": "https://elsewhere.example/w/api.php"}, b""))
    error = await failure(client)
    assert error.trouble is Trouble.REJECTED
    assert "points to https://elsewhere.example/w/api.php; is that its address?" in str(error)


@pytest.mark.parametrize(
    "failing",
    [
        Failing(headers={"Content-Type": "application/json; charset=iso-8859-1"}),
        Failing(headers={"Content-Type": "application/json"}),
        Failing(headers={"Content-Type": "text/plain; charset=nonsense"}),
        Failing(charset="utf-8-sig"),
        Failing(charset="utf-16"),
        Failing(charset="cp1252"),
    ],
)
async def test_the_text_is_right_whatever_charset_is_told(wiki: WikiServer, client: Client, failing: Failing) -> None:
    wiki.fail_next(failing)
    answer = (await client.fetch(["Cat"]))["Cat"]
    assert isinstance(answer, Page)
    assert answer.text == TEXT


async def test_bytes_that_are_no_text_in_any_charset_told_are_damaged(wiki: WikiServer, client: Client) -> None:
    for charset in ("utf-8", "nonsense"):
        headers = {"Content-Type": f"application/json; charset={charset}"}
        wiki.fail_next(Failing(headers=headers, body='{"a": "ä"}'.encode("latin-1")))
        assert (await failure(client)).trouble is Trouble.NETWORK


async def test_answers_that_go_on_for_ever_are_given_up(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(*[told({"continue": {"rvcontinue": "1", "continue": "||"}})] * 5)
    error = await failure(client)
    assert error.trouble is Trouble.MALFORMED
    assert "goes on for ever" in str(error)
    assert len(wiki.requests) == 2


async def test_what_was_answered_before_a_failure_is_not_lost(wiki: WikiServer, client: Client) -> None:
    titles = [f"Page {number}" for number in range(120)]
    wiki.fail_next(Failing(), Failing(), limited("30"))
    with pytest.raises(WikiFailed) as failed:
        await client.fetch([*titles, ""])
    assert failed.value.retry_after == 30
    assert set(failed.value.answered) == {*titles[:100], ""}
    assert isinstance(failed.value.answered["Page 0"], Page)


async def test_nothing_is_told_of_a_page_whose_rest_did_not_come(wiki: WikiServer, client: Client) -> None:
    wiki.bytes_per_answer = 8
    wiki.fail_next(Failing(), AWAY)
    with pytest.raises(WikiFailed) as failed:
        await client.fetch(["Page 1", "Page 2", "Page 3"])
    assert failed.value.answered == {}
    assert len(await client.fetch(["Page 1", "Page 2", "Page 3"])) == 3


async def test_something_that_is_no_wiki_has_no_site(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(told([]), told({"query": {"general": {}}}), told({"query": {"namespaces": {"0": {"id": "zero"}}}}))
    for _ in range(3):
        with pytest.raises(WikiFailed) as failed:
            await client.site()
        assert failed.value.trouble is Trouble.MALFORMED


async def test_a_wiki_without_search_suggests_what_begins_alike(wiki: WikiServer, client: Client) -> None:
    wiki.fail_next(refusing("search-text-disabled", "Not here."))
    assert await client.suggest("Catt") == ["Cat"]
    wiki.fail_next(limited("4"))
    with pytest.raises(WikiFailed) as failed:
        await client.suggest("Catt")
    assert failed.value.retry_after == 4


def wiki_pages() -> dict[str, Any]:
    return {"pages": [{"title": "Cat", "missing": True}]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["code", "info", "*"]), inner),
)


@given(st.dictionaries(st.sampled_from(["error", "errors", "query"]), JSON), st.text(max_size=40))
def test_whatever_is_told_as_an_error_can_be_told_on(answer: dict[str, Any], header: str) -> None:
    found = failed_answer("here", answer, {"Retry-After": header, "Date": header})
    assert found is None or str(found).startswith("The wiki here ")


@given(st.integers(100, 999).filter(lambda status: status != 200), st.binary(max_size=60), st.text(max_size=20))
def test_whatever_is_refused_can_be_told_on(status: int, body: bytes, header: str) -> None:
    found = refused("here", status, {"Retry-After": header, "Location": header}, body)
    assert "\n" not in str(found)
    assert found.trouble.transient == (status >= 500 or status in (408, 425, 429))
