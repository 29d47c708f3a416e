"""Splitting long text: nothing is lost, no piece is too long, and the cuts are where a reader would make them."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.knowledge.splitting import Piece, split

WORDS = [
    "a",
    "heron",
    "stands.",
    "Still!",
    "\n",
    "\n\n",
    " ",
    "\t",
    "# Title\n",
    "x" * 30,
    "e\u0301",
    "👩\u200d🔬",
    "。",
    "\r\n",
]
TEXTS = st.one_of(st.lists(st.sampled_from(WORDS), max_size=120).map("".join), st.text(max_size=200))


def solid(text: str) -> str:
    return "".join(text.split())


def prose(paragraphs: int, seed: int) -> list[str]:
    """Paragraphs of some sentences each."""
    chance = random.Random(seed)
    words = ["heron", "lake", "reed", "water", "still", "grey", "wing", "fish", "stone", "wind"]
    return [
        " ".join(
            " ".join(chance.choices(words, k=chance.randint(5, 14))).capitalize() + "."
            for _ in range(chance.randint(2, 6))
        )
        for _ in range(paragraphs)
    ]


@given(TEXTS, st.integers(1, 80))
def test_nothing_is_lost_and_no_piece_is_too_long(text: str, size: int) -> None:
    pieces = split(text, size)
    assert "".join(solid(piece.text) for piece in pieces) == solid(text)
    assert all(piece.text.strip() and len(piece.text) <= size for piece in pieces)


@given(TEXTS, st.integers(1, 80), st.integers(1, 1000))
def test_a_piece_stands_on_the_lines_it_tells(text: str, size: int, first_line: int) -> None:
    lines = text.split("\n")
    before = first_line
    for piece in split(text, size, first_line=first_line):
        assert before <= piece.first <= piece.last
        inside = "\n".join(lines[piece.first - first_line : piece.last - first_line + 1])
        assert piece.text in inside
        before = piece.last


@given(TEXTS, st.integers(12, 80))
def test_what_is_seen_as_one_character_is_not_cut(text: str, size: int) -> None:
    for piece in split(text, size):
        if "\u0301" * 5 not in text:
            assert piece.text[0] not in {"\u200d", "\u0301"} or piece.text[0] == text.lstrip()[0]


@given(st.lists(st.sampled_from(["heron", "lake", "reed", "stone."]), min_size=40, max_size=200), st.integers(40, 90))
def test_no_piece_is_much_smaller_than_half_the_size(words: list[str], size: int) -> None:
    pieces = split(" ".join(words), size)
    assert all(len(piece.text) >= size // 3 - 1 for piece in pieces)


def test_short_text_is_one_piece() -> None:
    assert split("\n  a\n\nb  \n", 20) == [Piece("  a\n\nb", 2, 4)]
    assert split("abc", 3, first_line=7) == [Piece("abc", 7, 7)]


def test_blank_text_has_no_pieces() -> None:
    assert split("", 10) == []
    assert split(" \n\n \t", 1) == []


def test_a_piece_needs_a_character() -> None:
    with pytest.raises(ValueError, match="at least 1 character, not 0"):
        split("a", 0)


def test_a_blank_line_is_preferred_to_the_end_of_a_line() -> None:
    text = "one one one\ntwo two two\n\nthree three\nfour four four"
    assert [piece.text for piece in split(text, 40)] == ["one one one\ntwo two two", "three three\nfour four four"]


def test_the_end_of_a_line_is_preferred_to_the_end_of_a_sentence() -> None:
    text = "One two. Three four. Five\nsix seven. Eight nine. Ten"
    assert [piece.text for piece in split(text, 40)] == ["One two. Three four. Five", "six seven. Eight nine. Ten"]


def test_the_end_of_a_sentence_is_preferred_to_a_space() -> None:
    text = "one two three four five. six seven eight nine ten"
    assert [piece.text for piece in split(text, 40)] == ["one two three four five.", "six seven eight nine ten"]


def test_words_stay_whole() -> None:
    assert {word for piece in split("heron " * 100, 50) for word in piece.text.split()} == {"heron"}


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    assert [len(piece.text) for piece in split("x" * 100, 40)] == [40, 40, 20]


def test_a_blank_line_before_a_heading_is_preferred() -> None:
    paragraphs = [f"This is paragraph {number} of the first part, and it ends with a stop." for number in range(12)]
    paragraphs.insert(6, "# The second part")
    pieces = split("\n\n".join(paragraphs), 500)
    assert pieces[1].text.startswith("# The second part")


def test_code_is_cut_where_it_is_least_indented() -> None:
    blocks = [f"def f{number}():\n    a = {number}\n\n    b = a\n\n    return b" for number in range(20)]
    pieces = split("\n\n".join(blocks), 200)
    assert len(pieces) > 3
    assert all(piece.text.startswith("def f") for piece in pieces)


def test_the_indentation_of_a_first_line_is_kept() -> None:
    assert [piece.text for piece in split("\n   aaaa bbbb\n   cccc dddd\n", 14)] == ["   aaaa bbbb", "   cccc dddd"]


@pytest.mark.parametrize("text", ["e\u0301" * 100, "👩\u200d🔬 " * 60, "\ud83d\udc26" * 100, "👍🏽" * 100])
def test_characters_made_of_several_stay_whole(text: str) -> None:
    pieces = split(text, 31)
    assert len(pieces) > 3
    for piece in pieces:
        assert not unicodedata.category(piece.text[0]).startswith("M")
        assert piece.text[0] not in {"\u200d", "🏽", "\udc26"}
        assert piece.text[-1] not in {"\u200d", "\ud83d"}


def test_a_surrogate_pair_without_room_is_cut() -> None:
    assert [piece.text for piece in split("\ud83d\udc26", 1)] == ["\ud83d", "\udc26"]


@pytest.mark.parametrize("seed", range(10))
def test_an_edit_in_one_paragraph_changes_few_pieces(seed: int) -> None:
    paragraphs = prose(300, seed)
    edited = [*paragraphs[:20], "A new one. " + paragraphs[20] + " And words behind it.", *paragraphs[21:]]
    before = [piece.text for piece in split("\n\n".join(paragraphs), 1500)]
    after = [piece.text for piece in split("\n\n".join(edited), 1500)]
    assert len(before) > 30
    assert len(set(after) - set(before)) <= 8


def test_pieces_of_prose_are_at_least_half_full() -> None:
    pieces = split("\n\n".join(prose(300, 1)), 1500)
    assert min(len(piece.text) for piece in pieces[:-2]) >= 740
    assert min(len(piece.text) for piece in pieces[-2:]) >= 490


@pytest.mark.parametrize(
    "text", ["x" * 500_000, " " * 500_000 + "x", "a" + "\u0301" * 500_000, "\n" * 500_000, "a b. " * 100_000]
)
def test_the_time_grows_with_the_length(text: str) -> None:
    started = time.monotonic()
    split(text, 1000)
    assert time.monotonic() - started < 10


def test_the_same_text_is_always_split_alike() -> None:
    text = "\n\n".join(prose(50, 2))
    assert split(text, 700) == split(text, 700)
