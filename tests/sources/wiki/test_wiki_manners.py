"""How a wiki is asked that wants to be left alone, fails, or is not there; none of it costs an article."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.sources.wiki.server import AWAY, WEB_PAGE, Failing, WikiServer, limited

import detent
from detent.errors import DiscoveryFailed
from detent.lifecycle import Trouble
from detent.services import manners as services
from detent.services import pace
from detent.services.failure import ServiceFailed
from detent.services.pace import Quota
from detent.sources.wiki import manners
from detent.sources.wiki.client import Client, WikiFailed
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

Query = Callable[..., list[Any]]

HTML = {"Content-Type": "text/html", "Retry-After": "0"}
BROKEN = Failing(500, HTML, b"<h1>Fatal error</h1>")
TITLES = sorted(f"Page {number}" for number in range(120))


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer(dict.fromkeys(TITLES, "Text.")) as running:
        yield running


@pytest.fixture
def opened(database: str, wiki: WikiServer) -> Callable[..., detent.Detent]:
    def open_(seeds: Sequence[str], **details: Any) -> detent.Detent:
        settings = WikiSettings(api=wiki.api, seeds=tuple(seeds), **{"depth": 0, **details})
        return detent.open(database=database, sources=make("wiki", settings.as_data()))

    return open_


@pytest.fixture
def standing(query: Query) -> Callable[[], dict[str, tuple[str, int]]]:
    """The state of each article, and how many attempts it has cost."""

    def read() -> dict[str, tuple[str, int]]:
        rows = query("SELECT key, state, attempt FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'")
        return {row.key: (row.state, row.attempt) for row in rows}

    return read


async def test_who_asks_by_hand_is_told_of_a_wait_before_it_ends(
    wiki: WikiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = asyncio.Queue[str]()

    class Busy:
        async def turn(self, service: str, per_minute: float, at_most: float, quotas: Sequence[Quota] = ()) -> None:
            assert (
                await told.get() == f"Waiting, for {at_most:.0f} seconds at most, until {service} may be asked again."
            )

        async def hold(self, service: str, seconds: float, reason: str) -> None: ...

    monkeypatch.setattr(services, "_SILENT_SECONDS", 0.0)
    pace.keep(Busy())
    async with manners.client_of(WikiSettings(api=wiki.api), "tests", patient=True, tell=told.put_nowait) as client:
        await client.site()
    assert told.empty()


def test_a_wiki_that_wants_to_be_left_alone_for_an_hour_is_and_no_article_waits_in_its_handler(
    wiki: WikiServer, opened: Callable[..., detent.Detent], standing: Callable[[], Any], query: Query
) -> None:
    wiki.fail_next(limited("3600"))
    with opened(["Page 1"]) as db:
        db.run(wait=False)
    with opened(["Page 1", "Page 2"]) as db:
        db.run(wait=False)
    assert len(wiki.requests) == 1
    assert standing() == {"Page 1": ("discovered", 0), "Page 2": ("discovered", 0)}
    [told] = query(
        "SELECT message, not_before > now() + interval '50 minutes' AS late FROM failure "
        "JOIN item ON item.id = item_id WHERE key = 'Page 2'"
    )
    assert "is left alone for another 60 minutes: it refused with 429 Too Many Requests" in told.message
    assert told.late


def test_a_request_that_waits_for_its_turn_is_not_sent_when_another_one_is_refused(
    wiki: WikiServer, opened: Callable[..., detent.Detent], standing: Callable[[], Any]
) -> None:
    wiki.fail_next(Failing(), limited("3600"))
    with opened(TITLES[:100], per_minute=30) as db:
        db.run(wait=False)
    assert len(wiki.requests) == 2
    assert standing() == dict.fromkeys(TITLES[:100], ("discovered", 0))


def test_a_batch_whose_answer_comes_in_pieces_is_loaded_however_slow_the_pace(
    wiki: WikiServer,
    opened: Callable[..., detent.Detent],
    standing: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "LONGEST_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(services, "_SLOW_SECONDS", 0.1)
    wiki.bytes_per_answer = 100
    with opened(TITLES, per_minute=300) as db:
        db.run()
    assert standing() == dict.fromkeys(TITLES, ("processed", 0))
    assert len(wiki.requests) <= 10


@pytest.mark.parametrize(
    ("per_minute", "batches", "limit"), [(None, 4, None), (200, 4, None), (2, 1, 600), (0.5, 1, 2400)]
)
def test_where_the_pace_is_slow_one_batch_takes_its_time(
    per_minute: float | None, batches: int, limit: float | None
) -> None:
    settings = WikiSettings(api="http://wiki.example/w/api.php", seeds=("Owl",), per_minute=per_minute)
    [handler] = make("wiki", settings.as_data()).handlers
    assert (handler.concurrency, handler.time_limit_seconds) == (batches, limit)


@pytest.mark.parametrize("body", [b"{}", b'{"query": {"pages": [5]}}', b'{"query": {"general": []}}'])
async def test_a_wiki_is_left_alone_for_answers_that_are_of_no_use_too(wiki: WikiServer, body: bytes) -> None:
    held: list[int] = []

    async def hold(error: ServiceFailed, failed_in_a_row: int) -> None:
        held.append(failed_in_a_row)

    wiki.fail_next(*[Failing(headers=HTML, body=body)] * 4)
    async with Client(wiki.api, "Tester", hold=hold) as client:
        for ask in (client.site(), client.fetch(["Page 1"]), client.site(), client.fetch(["Page 1"])):
            with pytest.raises(WikiFailed):
                await ask
        await client.fetch(["Page 1"])
        wiki.fail_next(AWAY)
        with pytest.raises(WikiFailed):
            await client.fetch(["Page 1"])
    assert held == [1, 2, 3, 4, 1]


def test_articles_that_were_refused_together_are_asked_for_together_again(
    wiki: WikiServer, opened: Callable[..., detent.Detent]
) -> None:
    wiki.fail_next(Failing(), limited("0"))
    with opened(TITLES[:100]) as db:
        db.run()
    asked = [each.parameters["titles"].count("|") + 1 for each in wiki.requests if "titles" in each.parameters]
    assert asked == [50, 50, 50]


def test_two_wikis_on_one_host_do_not_wait_for_each_other(
    wiki: WikiServer, opened: Callable[..., detent.Detent], standing: Callable[[], Any], database: str
) -> None:
    wiki.fail_next(limited("3600"))
    with opened(["Page 1"]) as db:
        db.run(wait=False)
    with WikiServer({"Owl": "Text."}) as other:
        settings = WikiSettings(api=other.api, seeds=("Owl",), depth=0)
        with detent.open(database=database, sources=make("other", settings.as_data())) as db:
            db.run(wait=False)
    assert standing() == {"Page 1": ("discovered", 0), "Owl": ("processed", 0)}


@pytest.mark.parametrize(
    ("api", "service"),
    [
        ("https://en.wikipedia.org/w/api.php", "en.wikipedia.org"),
        ("https://EN.wikipedia.org:443/w/api.php", "en.wikipedia.org"),
        ("http://me:secret@wiki.example:80/api.php", "wiki.example"),
        ("http://wiki.example:443/api.php", "wiki.example:443"),
        ("http://wiki.example:8080/api.php", "wiki.example:8080"),
    ],
)
def test_the_pace_is_that_of_the_host_and_of_a_port_that_is_not_the_usual_one(api: str, service: str) -> None:
    assert WikiSettings(api=api).service == service


def changed_in(db: detent.Detent, query: Query) -> set[str]:
    """Which articles a refresh that fails finds changed."""
    with pytest.raises(DiscoveryFailed) as failed:
        db.refresh()
    assert "told of" in str(failed.value)
    return {row.key for row in query("SELECT key FROM item WHERE state = 'discovered'")}


def test_a_hiccup_does_not_stop_a_refresh(wiki: WikiServer, opened: Callable[..., detent.Detent]) -> None:
    with opened(TITLES) as db:
        db.run(wait=False)
        for title in TITLES:
            wiki.edit(title, "Another text.")
        wiki.fail_next(Failing(), limited("0"), BROKEN, limited("0"), Failing(), AWAY)
        assert db.refresh() == len(TITLES)


def test_a_refresh_keeps_what_it_was_told_before_the_wiki_went_away(
    wiki: WikiServer, opened: Callable[..., detent.Detent], query: Query
) -> None:
    with opened(TITLES) as db:
        db.run(wait=False)
        for title in TITLES:
            wiki.edit(title, "Another text.")
        wiki.fail_next(Failing(), *[limited("0")] * 20)
        assert changed_in(db, query) == set(TITLES[:50])


def test_titles_that_the_wiki_cannot_tell_of_do_not_keep_a_refresh_from_the_others(
    wiki: WikiServer, opened: Callable[..., detent.Detent], query: Query
) -> None:
    with opened(TITLES) as db:
        db.run(wait=False)
        for title in TITLES:
            wiki.edit(title, "Another text.")
        wiki.broken[TITLES[60]] = BROKEN
        assert changed_in(db, query) == {*TITLES[:50], *TITLES[100:]}


def test_who_refreshes_is_told_how_long_the_wiki_wants_to_be_left_alone(
    wiki: WikiServer, opened: Callable[..., detent.Detent]
) -> None:
    with opened(TITLES[:2]) as db:
        db.run(wait=False)
        wiki.fail_next(limited("7200"))
        before = len(wiki.requests)
        for _ in range(2):
            with pytest.raises(DiscoveryFailed, match="is left alone for another 120 minutes"):
                db.refresh()
    assert len(wiki.requests) == before + 1


@pytest.mark.parametrize(
    "page",
    [
        WEB_PAGE,
        Failing(200, HTML, b"\xef\xbb\xbf\n<html>Log in to the hotel's network</html>"),
        Failing(200, HTML, b"Please log in."),
        Failing(302, {**HTML, "Location": "http://portal.example/login"}, b""),
        Failing(404, HTML, b"<h1>Not found</h1>"),
        Failing(407, HTML, b"<h1>Who are you?</h1>"),
        Failing(502, HTML, b"<h1>Bad gateway</h1>"),
        Failing(503, HTML, b"<h1>Back soon</h1>"),
        Failing(511, HTML, b"<h1>Log in to the hotel's network</h1>"),
        Failing(521, HTML, b"<h1>The host is down</h1>"),
    ],
)
async def test_what_answers_in_the_place_of_a_wiki_means_that_it_is_away(wiki: WikiServer, page: Failing) -> None:
    wiki.fail_next(page)
    async with Client(wiki.api, "Tester") as client:
        with pytest.raises(WikiFailed) as failed:
            await client.fetch(["Page 1"])
    assert failed.value.away


def test_articles_go_on_when_the_wiki_is_back_behind_a_portal(
    wiki: WikiServer, opened: Callable[..., detent.Detent], standing: Callable[[], Any], query: Query
) -> None:
    wiki.fail_next(WEB_PAGE, Failing(404, HTML, b"<h1>Not found</h1>"), Failing(502, HTML, b""), WEB_PAGE)
    with opened(TITLES[:60]) as db:
        db.run()
    assert standing() == dict.fromkeys(TITLES[:60], ("processed", 0))
    told = query("SELECT attempt FROM journal WHERE from_state = 'claimed' AND to_state = 'discovered'")
    assert told
    assert {row.attempt for row in told} == {1}


@pytest.mark.parametrize(
    ("broken", "attempts", "trouble"),
    [(BROKEN, 3, Trouble.SERVER), (Failing(headers=HTML, body=b'{"query": {"pages": [5]}}'), 2, Trouble.MALFORMED)],
)
def test_one_page_that_the_wiki_breaks_on_fails_alone(
    wiki: WikiServer,
    opened: Callable[..., detent.Detent],
    standing: Callable[[], Any],
    query: Query,
    *,
    broken: Failing,
    attempts: int,
    trouble: Trouble,
) -> None:
    wiki.broken["Page 7"] = broken
    titles = [f"Page {number}" for number in range(50)]
    with opened(titles) as db:
        db.run()
    found = standing()
    assert found.pop("Page 7") == ("failed", attempts)
    assert found == dict.fromkeys([title for title in titles if title != "Page 7"], ("processed", 0))
    assert [row.trouble for row in query("SELECT trouble FROM failure")] == [trouble]
