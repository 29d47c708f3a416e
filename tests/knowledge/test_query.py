"""Reading queries as web search engines do, whatever is typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.knowledge.query import LONGEST, MOST_PHRASES, MOST_WORDS, Query, parse


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("grey heron", Query(("grey", "heron"))),
        ("Heron heron HERON", Query(("Heron",))),
        ("Straße strasse STRASSE", Query(("Straße", "strasse"))),
        ('"grey heron" lake', Query(("lake",), (("grey heron",),))),
        ('  "grey   heron"  ', Query((), (("grey heron",),))),
        ("“grey heron”", Query((), (("grey heron",),))),
        ('"a b" "c d"', Query((), (("a b",), ("c d",)))),
        ('"a b" or "c d" OR e f', Query(("f",), (("a b", "c d", "e"),))),
        ("cats or dogs", Query(("cats", "dogs"))),
        ("or", Query(("or",))),
        ("or cats", Query(("or", "cats"))),
        ("cats or", Query(("cats", "or"))),
        ("heron -grey", Query(("heron",), (), ("grey",))),
        ("heron \u2212grey", Query(("heron",), (), ("grey",))),
        ('heron -"grey heron"', Query(("heron",), (), ("grey heron",))),
        ("-grey", Query((), (), ("grey",))),
        ("night-heron", Query(("night-heron",))),
        ('night-"grey heron"', Query(("night-",), (("grey heron",),))),
        ("--verbose", Query(("--verbose",))),
        ("- heron", Query(("heron",))),
        ('"grey heron', Query(("grey", "heron"))),
        ('a 5" nail "grey heron"', Query(("a", "5", "nail"), (("grey heron",),))),
        ('-"grey heron', Query(("grey", "heron"))),
        ('""', Query(signs=True)),
        ('"', Query(signs=True)),
        ("", Query()),
        (" \x00\n", Query()),
        ("🦩 — !", Query(signs=True)),
        ("he\x00ron \ud800", Query(("he", "ron"))),
        ("עברית العربية 日本語", Query(("עברית", "العربية", "日本語"))),
    ],
)
def test_a_query_is_read(text: str, query: Query) -> None:
    assert parse(text) == query


def test_what_is_sought_are_words_and_phrases() -> None:
    assert parse('lake "grey heron" or "night heron" -dry').sought == ("lake", "grey heron", "night heron")


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        ("heron", ""),
        ('"grey heron"', ""),
        ("-heron", "The query only excludes; it needs at least one word to search for."),
        ("🦦🚂", "The query has only punctuation; it needs at least one word to search for."),
        ('"', "The query has only punctuation; it needs at least one word to search for."),
        ("  ", "The query is empty."),
    ],
)
def test_a_query_says_why_nothing_is_looked_for(text: str, lack: str) -> None:
    assert parse(text).lack == lack


def test_of_a_long_query_the_beginning_is_read_and_this_is_told() -> None:
    query = parse("a" * 100_000)
    assert query.words == ("a" * LONGEST,)
    assert query.notes == (f"The query is 100,000 characters long; the first {LONGEST:,} were read.",)
    query = parse(" ".join(f"w{n}" for n in range(100)))
    assert query.words == tuple(f"w{n}" for n in range(MOST_WORDS))
    assert len(query.notes) == 1
    query = parse(" ".join(f'"w{n}" -x{n}' for n in range(40)))
    assert (len(query.phrases), len(query.excluded), len(query.notes)) == (MOST_PHRASES, MOST_PHRASES, 1)


@given(st.text(alphabet=st.characters() | st.sampled_from('"- or\x00\ud800'), max_size=60))
def test_nothing_that_is_typed_is_an_error(text: str) -> None:
    query = parse(text)
    for part in (*query.sought, *query.excluded):
        assert part.strip() == part != ""
        assert '"' not in part
        part.encode()
        assert "\x00" not in part
