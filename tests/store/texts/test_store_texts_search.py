"""Searching texts: what is found, in which order, and what a query may be."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import pytest

from detent.knowledge.query import Query, parse
from detent.store.database import Connection
from detent.store.texts import Texts, ranking, search
from detent.store.texts.candidates import WAITING, Reader
from detent.store.texts.counting import LOOKED_UP, Counting

if TYPE_CHECKING:
    from tests.store.texts.conftest import Shelf


async def found(shelf: Shelf, query: str, *, limit: int = 10, kinds: Collection[int] | None = None) -> list[int]:
    return [hit.item_id for hit in (await shelf.texts.search(parse(query), limit=limit, kinds=kinds)).hits]


def note(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[int]:
    """What a method is called with, all together."""
    method = getattr(owner, name)
    noted: list[int] = []

    async def called(self: object, values: Iterable[int]) -> object:
        noted.extend(values)
        return await method(self, values)

    monkeypatch.setattr(owner, name, called)
    return noted


@pytest.mark.parametrize("indexed", [False, True])
async def test_words_are_found_ranked_and_in_their_own_language(shelf: Shelf, indexed: bool) -> None:
    once = shelf.put("once", "a heron stands in the water among many other birds")
    twice = shelf.put("twice", "heron and heron")
    english = shelf.put("english", "The herons were running.", kind="english")
    if indexed:
        await shelf.settle()
    assert await found(shelf, "heron") == [twice, english, once]
    assert await found(shelf, "herons run") == [english]
    assert await found(shelf, "heron", kinds=[shelf.kinds["simple"]]) == [twice, once]
    assert await found(shelf, "heron", limit=1) == [twice]
    assert await found(shelf, "stork") == []


@pytest.mark.parametrize("indexed", [False, True])
async def test_the_title_is_searched_with_the_text(shelf: Shelf, indexed: bool) -> None:
    item = shelf.put("a", "stands in the water", title="Heron")
    if indexed:
        await shelf.settle()
    assert await found(shelf, "heron") == [item]


@pytest.mark.parametrize("indexed", [False, True])
async def test_a_phrase_must_occur_and_an_excluded_word_must_not(shelf: Shelf, indexed: bool) -> None:
    straight = shelf.put("straight", "the grey heron of the lake")
    turned = shelf.put("turned", "heron grey and old")
    night = shelf.put("night", "a night heron by the lake")
    english = shelf.put("english", "Grey herons everywhere", kind="english")
    if indexed:
        await shelf.settle()
    assert set(await found(shelf, '"grey heron"')) == {straight, english}
    assert set(await found(shelf, '"grey heron" or "night heron"')) == {straight, english, night}
    assert set(await found(shelf, "heron -grey")) == {night}
    assert set(await found(shelf, 'heron -"grey heron"')) == {turned, night}
    assert await found(shelf, '"grey heron" -lake') == [english]
    assert await found(shelf, '"grey stork"') == []
    assert set(await found(shelf, '"grey heron" "the lake"')) == {straight}


async def test_a_query_that_asks_for_nothing_finds_nothing_and_says_why(shelf: Shelf) -> None:
    shelf.put("a", "the heron", kind="english")
    english = [shelf.kinds["english"]]
    for query in ("", "   ", "-heron", "🦩 🦩", "—", "\x00", "\ud800", '"', '""', "-", "the of and"):
        answer = await shelf.texts.search(parse(query), limit=10, kinds=english)
        assert answer.hits == ()
        assert len(answer.notes) == 1
    answer = await shelf.texts.search(parse("heron"), limit=10, kinds=[])
    assert (answer.hits, len(answer.notes)) == ((), 1)


async def test_a_phrase_of_stop_words_is_not_heeded_and_this_is_told(shelf: Shelf) -> None:
    item = shelf.put("a", "the heron", kind="english")
    answer = await shelf.texts.search(parse('heron "to be" -the'), limit=10, kinds=[shelf.kinds["english"]])
    assert [hit.item_id for hit in answer.hits] == [item]
    assert ["“to be”" in note or "“the”" in note for note in answer.notes] == [True, True]


@pytest.mark.parametrize(
    "typed",
    [
        *("' or 1=1; --", "a:*&|!<->(", "\\", "{}", '{"a"}', "%s %(x)s", "NULL", "http://a.b/c?d=e", "a-b-c_d"),
        *("עברית العربية", "e\u0301", "\u202eabc", "ab" * 50_000, "x " * 50_000, '"' * 999, "-" * 999, '"a' * 999),
    ],
)
async def test_any_text_is_a_query(shelf: Shelf, typed: str) -> None:
    shelf.put("a", "some text")
    await shelf.settle()
    shelf.put("b", "more text")
    await shelf.texts.search(parse(typed), limit=10)
    await shelf.texts.snippets([1, 2], parse(typed))


async def test_only_allowed_items_are_found_however_rare_they_are_among_the_hits(shelf: Shelf) -> None:
    """Reading stops for a common word, and goes on if a filter leaves too few."""
    texts = Texts(shelf.store.database, budget=50)
    items = shelf.put_many({f"{n}": "heron " + "water " * (n % 90) for n in range(4000)})
    await shelf.settle()
    for many in (3, 500):
        allowed = random.Random(1).sample(items, many)
        hits = (await texts.search(parse("heron"), limit=20, allowed=allowed)).hits
        plain = shelf.plain(["heron"])
        best = sorted((plain[item] for item in allowed), reverse=True)[:20]
        assert {hit.item_id for hit in hits} <= set(allowed)
        assert [hit.score for hit in hits] == pytest.approx(best)
    assert (await texts.search(parse("heron"), limit=20, allowed=[])).hits == ()


async def test_a_check_is_asked_about_the_best_until_there_are_enough(shelf: Shelf) -> None:
    texts = Texts(shelf.store.database, budget=50)
    items = shelf.put_many({f"{n}": "heron " + "water " * (n % 90) for n in range(3000)})
    await shelf.settle()
    shelf.put("new", "heron")
    chosen = set(items[::700])

    async def check(_: Connection, asked: Sequence[int]) -> Collection[int]:
        return chosen.intersection(asked)

    assert {hit.item_id for hit in (await texts.search(parse("heron"), limit=9, check=check)).hits} == chosen


async def test_what_does_not_pass_the_check_is_not_counted(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was, and used up what may be counted, so that what passed had less than its score."""
    monkeypatch.setattr(ranking, "SHORT", 1)
    chance = random.Random(4)
    texts = {f"{n}": " ".join(chance.choices(["heron", "reed", "water", "mud"], k=20)) for n in range(4000)}
    items = shelf.put_many(texts)
    await shelf.settle()
    chosen = set(items[::20])

    async def check(_: Connection, asked: Sequence[int]) -> Collection[int]:
        return chosen.intersection(asked)

    counted = note(monkeypatch, Counting, "scores")
    found = await Texts(shelf.store.database, budget=400).search(parse("heron reed mud"), limit=10, check=check)
    assert 0 < len(counted) <= len(chosen)
    plain = shelf.plain(["heron", "reed", "mud"])
    best = sorted((plain[item] for item in chosen), reverse=True)
    assert [hit.score for hit in found.hits] == pytest.approx(best[:10])


async def test_of_a_common_word_only_the_budget_is_read(shelf: Shelf) -> None:
    texts = Texts(shelf.store.database, budget=2000)
    rare = [f"{n}" for n in range(0, 30_000, 3000)]
    items = shelf.put_many({f"{n}": "water " * (1 + n % 5) + f"x{n % 97}" for n in range(30_000)})
    shelf.put_many(dict.fromkeys(rare, "deep water under the bridge heron"))
    await shelf.settle()
    answer = await texts.search(parse("water heron"), limit=10)
    assert answer.entries_read <= 2100
    plain = shelf.plain(["water", "heron"])
    assert {hit.item_id for hit in answer.hits} == {items[int(key)] for key in rare}
    assert [hit.score for hit in answer.hits] == pytest.approx([plain[hit.item_id] for hit in answer.hits])
    answer = await texts.search(parse("water"), limit=10)
    assert answer.entries_read <= 2100
    best = sorted(shelf.plain(["water"]).values(), reverse=True)
    assert [hit.score for hit in answer.hits] == pytest.approx(best[:10])


async def test_a_text_that_was_replaced_is_not_found_even_before_the_index_knows(shelf: Shelf) -> None:
    item = shelf.put("a", "heron")
    await shelf.settle()
    shelf.put("a", "stork")
    assert await found(shelf, "heron") == []
    assert await found(shelf, "stork") == [item]
    shelf.take("a")
    assert await found(shelf, "stork") == []


async def test_more_waiting_texts_than_are_searched_are_told(shelf: Shelf) -> None:
    items = shelf.put_many({f"{n}": "heron" for n in range(700)})
    answer = await shelf.texts.search(parse("heron"), limit=1000)
    assert {hit.item_id for hit in answer.hits} == set(items[-WAITING:])
    assert answer.notes == ("700 texts are not indexed yet; only the newest of them were searched.",)
    await shelf.settle()
    answer = await shelf.texts.search(parse("heron"), limit=1000)
    assert (len(answer.hits), answer.notes) == (700, ())


async def test_texts_that_wait_are_split_once_and_follow_their_language(shelf: Shelf) -> None:
    item = shelf.put("a", "the herons waited")
    for _ in range(2):
        assert await found(shelf, "herons") == [item]
        assert await found(shelf, "heron") == []
    shelf.query("UPDATE source SET language = 'english'")
    assert await found(shelf, "heron") == [item]
    shelf.put("a", "the storks waited")
    assert await found(shelf, "heron") == []
    assert await found(shelf, "stork") == [item]


async def test_the_best_are_exact_and_the_others_no_better(shelf: Shelf) -> None:
    texts = Texts(shelf.store.database, budget=400)
    words = ("water", "heron", "reed", "stork")
    chance = random.Random(5)
    shelf.put_many(
        {f"{n}": " ".join(chance.choices(words, (60, 3, 9, 1), k=chance.randint(3, 30))) for n in range(3000)}
    )
    await shelf.settle()
    plain = shelf.plain(["water", "heron"])
    best = sorted(plain.values(), reverse=True)
    for exact in (0, 1, 7, 50, None):
        hits = (await texts.search(parse("water heron"), limit=50, exact=exact)).hits
        told = 50 if exact is None else max(exact, 1)
        assert len({hit.item_id for hit in hits}) == 50
        assert [hit.score for hit in hits[:told]] == pytest.approx(best[:told])
        assert all(hit.score <= plain[hit.item_id] + 1e-9 for hit in hits)


async def test_many_common_words_are_ranked_nearly_as_if_all_was_read(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many may be better than they seem, what was not counted never comes before what was."""
    monkeypatch.setattr(ranking, "SHORT", 1)
    words = [f"word{n}" for n in range(60)]
    chance = random.Random(3)
    texts = {f"{n}": " ".join(chance.choices(words, k=chance.randint(3, 9))) for n in range(4000)}
    shelf.put_many(texts)
    await shelf.settle()
    asked = words[:5]
    plain = shelf.plain(asked)
    best = sorted(plain.values(), reverse=True)
    counted, looked_at = note(monkeypatch, Counting, "scores"), note(monkeypatch, Reader, "read")
    answer = await Texts(shelf.store.database, budget=400).search(parse(" ".join(asked)), limit=60, exact=20)
    assert 0 < len(counted) <= LOOKED_UP
    assert len(looked_at) == 60
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(hit.score <= plain[hit.item_id] + 1e-9 for hit in answer.hits)
    assert sum(plain[hit.item_id] for hit in answer.hits[:10]) >= 0.9 * sum(best[:10])
    assert [hit.score for hit in answer.hits[:20]] == pytest.approx([plain[hit.item_id] for hit in answer.hits[:20]])


async def test_what_is_common_was_decided_when_a_block_was_written(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may draw the line elsewhere."""
    chance = random.Random(6)
    shelf.put_many({f"{n}": " ".join(chance.choices(["heron", "reed", "mud"], k=9)) for n in range(900)})
    plain = shelf.plain(["heron", "mud"])
    await shelf.settle()
    for short in (1, 300, 2000):
        monkeypatch.setattr(ranking, "SHORT", short)
        hits = (await Texts(shelf.store.database, budget=300).search(parse("heron mud"), limit=10)).hits
        assert [hit.score for hit in hits] == pytest.approx([plain[hit.item_id] for hit in hits])


async def test_that_not_all_were_compared_is_told_only_if_it_is_so(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put_many({f"{n}": f"red heron {'blue' if n < 5 else 'green'}" for n in range(600)})
    await shelf.settle()
    monkeypatch.setattr(search, "VERIFIED", 600)
    assert (await shelf.texts.search(parse('"red blue"'), limit=10)).notes == ()
    assert (await shelf.texts.search(parse("heron -red"), limit=10)).notes == ()
    monkeypatch.setattr(search, "VERIFIED", 100)
    assert len((await shelf.texts.search(parse('"red heron"'), limit=10)).hits) == 10
    told = (await shelf.texts.search(parse('"heron red"'), limit=10)).notes
    assert told == ("Only the best 100 candidates were compared with the query's phrases.",)
    told = (await shelf.texts.search(parse('heron -"red heron"'), limit=10)).notes
    assert told == ("Only the best 100 candidates were compared with the query's exclusions.",)


async def test_a_small_source_beside_a_large_one_is_read_whole(shelf: Shelf) -> None:
    shelf.put_many({f"{n}": "history " + "of many other things " * 20 for n in range(5000)})
    short = shelf.put_many({f"s{n}": "history" for n in range(20)}, kind="english")
    await shelf.settle()
    hits = (await Texts(shelf.store.database, budget=300).search(parse("history"), limit=30)).hits
    assert {hit.item_id for hit in hits[:20]} <= set(short) | {
        hit.item_id for hit in hits if hit.score == hits[0].score
    }
    assert set(short) <= {hit.item_id for hit in hits}


async def test_of_many_that_are_alike_the_one_with_the_phrase_is_found(shelf: Shelf) -> None:
    items = shelf.put_many({f"{n}": "red heron blue" if n != 3777 else "blue red heron" for n in range(5000)})
    await shelf.settle()
    assert await found(shelf, '"blue red"') == [items[3777]]


async def test_a_search_is_as_large_as_asked(shelf: Shelf) -> None:
    shelf.put_many({f"{n}": "heron " * (n % 7 + 1) for n in range(3000)})
    await shelf.settle()
    plain = sorted(shelf.plain(["heron"]).values(), reverse=True)
    for limit in (0, 1, 30, 2999, 3000, 9000):
        hits = (await shelf.texts.search(Query(("heron",)), limit=limit)).hits
        assert [hit.score for hit in hits] == pytest.approx(plain[:limit])


async def test_a_text_of_any_length_is_indexed_and_searched(shelf: Shelf) -> None:
    words = " ".join(f"word{n}" for n in range(150_000))
    item = shelf.put("long", f"heron {words}")
    short = shelf.put("short", "heron")
    for _ in range(2):
        assert await found(shelf, "heron") == [short, item]
        assert await found(shelf, '"heron word0"') == [item]
        await shelf.settle()
    assert (await shelf.texts.statistics()).texts == 2


async def test_a_language_that_the_server_does_not_have_counts_as_simple(shelf: Shelf) -> None:
    shelf.query("UPDATE source SET language = 'klingon' WHERE name = 'english'")
    item = shelf.put("a", "herons", kind="english")
    await shelf.settle()
    assert await found(shelf, "herons") == [item]
    assert list((await shelf.texts.snippets([item], parse("herons"), start="[", stop="]")).values()) == ["[herons]"]


async def test_what_has_no_text_is_shown_by_its_title(shelf: Shelf) -> None:
    item = shelf.put("a", "", title="The grey heron")
    shown = await shelf.texts.snippets([item], parse("heron"), start="[", stop="]")
    assert "grey [heron]" in shown[item]


async def test_a_snippet_shows_the_match_wherever_it_is(shelf: Shelf) -> None:
    near = shelf.put("near", "All the herons stand in the water.", kind="english")
    far = shelf.put("far", "water " * 20_000 + "here a heron stands " + "water " * 20_000)
    none = shelf.put("none", "water " * 100)
    shown = await shelf.texts.snippets([near, far, none], parse("heron"), start="[", stop="]")
    assert "[herons] stand in the water" in shown[near]
    assert "here a [heron] stands" in shown[far]
    assert len(shown[far]) < 500
    assert shown[none].startswith("water water")
    assert shown[none].endswith("water …")
    assert len(shown[none]) <= 202
