"""What is a word and what is none: signs of other scripts, and what stands within words and is no part of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.search.conftest import Library


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("هذا كتاب، جديد", "كتاب"),
        ("أين القلم؟", "القلم"),
        ("یہ کتاب ہے\u06d4", "ہے"),
        ("यह घर है।", "है"),
        ("यह घर है॥", "है"),
        ("մեծ տուն\u0589", "տուն"),
        ("ծառ\u055d մեծ", "ծառ"),
        ("בית־ספר", "ספר"),
        ("ሰላም፡ዓለም።", "ዓለም"),
        ("စာအုပ်။", "စာအုပ်"),
        ("πώς κάνεις\u037e", "κάνεις"),
        ("owl®", "owl"),
        ("owl™", "owl"),
        ("©owl", "owl"),
        ("owl→nest", "nest"),
        ("€5", "5"),
        ("£5", "5"),
        ("3\u00d74", "4"),
        ("20°C", "20"),
        ("№7", "7"),
        ("①owl", "owl"),
        ("owl♂", "owl"),
    ],
)
async def test_a_word_is_found_beside_signs_of_any_script(library: Library, text: str, word: str) -> None:
    await library.put("Other", "something else")
    await library.put("Text", text)
    await library.tend()
    [hit] = (await library.search.search(word, mode="text", marks=("[", "]"))).hits
    assert (hit.key, f"[{word}]" in hit.snippet) == ("Text", True)


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("Москва\u0301", "москва"),
        ("Росси\u0301я", "Россия"),
        ("Ї\u0301жт\u0435", "їжте"),
        ("Ёжи\u0301к", "ёжик"),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff"),
        ("ինչո՞ւ", "ինչու"),
        ("שלום\u200f", "שלום"),
        ("✔\ufe0fowl", "owl"),
    ],
)
async def test_what_stands_within_a_word_and_is_not_read_makes_it_no_other_word(
    library: Library, written: str, word: str
) -> None:
    await library.put("Other", "something else")
    await library.put("Marked", f"{written} and more")
    await library.put("Plain", f"{word} and more")
    await library.tend()
    for asked in (written, word, f'"{written} and"', f'"{word} and"'):
        answer = await library.search.search(asked, mode="text", marks=("[", "]"))
        shown = {hit.key: hit.snippet.replace("[", "").replace("]", "") for hit in answer.hits}
        assert shown == {"Marked": f"{written} and more", "Plain": f"{word} and more"}


async def test_a_snippet_shows_a_stress_as_it_is_written_and_marks_the_word_where_it_has_none(library: Library) -> None:
    await library.put("Text", "Москва\u0301 — столица. Москва стоит на реке.")
    await library.tend()
    [hit] = (await library.search.search("москва", mode="text", marks=("[", "]"))).hits
    assert hit.snippet == "Москва\u0301 — столица. [Москва] стоит на реке"


@pytest.mark.parametrize("letter", ["e\u0301", "\u0433\u0301", "к\u0301", "\u03b1\u0301"])
async def test_an_accent_that_makes_another_letter_stays(query: Callable[..., list[Any]], letter: str) -> None:
    [row] = query("SELECT apart(%s) AS text", letter)
    assert row.text == letter


@pytest.mark.parametrize(
    "word", ["m²", "½", "ª", "µ", "\u02bbokina", "צה״ל", "צ\u05f3ק", "Ⅷ", "⠕⠺⠇", "々", "نیم\u200cروز", "၎င်း"]
)
async def test_what_is_written_with_letters_of_its_own_stays_one_word(
    query: Callable[..., list[Any]], word: str
) -> None:
    [row] = query("SELECT apart(%s) AS text", word)
    assert row.text == word
