"""Words that are asked for one by one: a text has the same lexemes as if PostgreSQL had read it whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.store.texts import index
from detent.store.texts.lexemes import Occurrences, read
from detent.store.texts.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tests.store.texts.conftest import Query, Shelf

_WORDS = [
    "heron",
    "Herons",
    "été",
    "ß",
    "नमस्ते",
    "漢字",
    "İ",
    "ﬁ",
    "x" * 300,
    "1",
    "2.5",
    "1e-10",
    "-7",
    "v1.2",
    "&amp;",
    "москва\u0301",
    "\u0435\u0301",
    "Ա՞",
    "है।",
    "كتاب،",
]
_SIGNS = [
    *"-_./@+:~%=?!|*<>\\$^`'\"()[]{},;&#\x01\x7f",
    " ",
    "\t",
    "\n",
    "\x0b",
    "\xa0",
    "\x1c",
    "\x85",
    "\u2003",
    "\u200b",
    "\u00ad",
    "\u0301",
    "\u200f",
    "\ufe0f",
    *"।،\u0589־፡®€→\u00d7①",
]
_NAMES = [
    "http://www.example.com/a,b?c=(d)",
    "me@example.org",
    "/usr/lib/x.so",
    "<a href='b'>",
    "well-known",
    "C++",
    "…",
    "\u2028",
]

texts = st.lists(st.lists(st.sampled_from(_WORDS + _SIGNS + _NAMES), max_size=30).map("".join), min_size=1, max_size=20)


def vectors(query: Query, language: str, many: Sequence[str]) -> list[bytes]:
    rows = query(
        "SELECT tsvectorsend(text_words(%s, '', given.text)) AS vector "
        "FROM unnest(%s::text[]) WITH ORDINALITY AS given (text, number) ORDER BY number",
        language,
        list(many),
    )
    return [bytes(row.vector) for row in rows]


def lines(found: Occurrences) -> set[tuple[bytes, int, int]]:
    columns = zip(found.term.tolist(), found.text.tolist(), found.times.tolist(), strict=True)
    return {(found.terms[term], text, times) for term, text, times in columns}


@pytest.mark.parametrize("language", ["simple", "english", "turkish"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(first=texts, second=texts)
def test_a_text_has_the_lexemes_of_its_words(
    shelf: Shelf, query: Query, language: str, first: list[str], second: list[str]
) -> None:
    vocabulary = Vocabulary()
    for some in (first, second):
        spelled = vocabulary.spell(some)
        vocabulary.learn(vectors(query, language, [word.decode() for word in vocabulary.unknown]))
        found = vocabulary.occurrences(spelled)
        assert lines(found) == lines(read(vectors(query, language, some)))
        assert len(found.term) == len(lines(found))


async def test_a_word_is_asked_for_once(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    fetch_binary = index.fetch_binary

    async def fetched(connection, name, parameters):  # type: ignore[no-untyped-def]
        asked.extend([parameters["words"]] if name == "word_vectors" else [])
        return await fetch_binary(connection, name, parameters)

    monkeypatch.setattr(index, "fetch_binary", fetched)
    shelf.put("1", "a heron, (two) herons")
    await shelf.texts.index()
    shelf.put("2", "two a heron")
    shelf.put("3", "a crane")
    await shelf.texts.index()
    assert sorted(asked[0].strip("{}").split(",")) == ['"a"', '"heron"', '"herons"', '"two"']
    assert asked[1:] == ['{"crane"}']


async def test_when_many_words_are_known_it_begins_anew_and_finds_the_same(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MOST_WORDS", 3)
    for number in range(4):
        shelf.put(f"{number}", f"heron of the lake number {number}")
        await shelf.texts.index()
    assert (await shelf.texts.statistics()).words == 4 * 6


async def test_of_a_long_text_as_much_is_counted_as_a_search_counts(shelf: Shelf) -> None:
    shelf.put("long", "heron " * 200 + "word " * 20_000 + "crane " * 300)
    shelf.put("short", "heron")
    await shelf.settle()
    assert (await shelf.texts.statistics()).words == 200 + 255 + 1 + 1
