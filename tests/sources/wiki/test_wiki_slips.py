"""Which titles a slip of the pen may stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.sources.wiki.slips import great_slips, small_slips


@pytest.mark.parametrize("slip", ["Wol", "OWL", "Oowl", "Owll", "oWl"])
def test_letters_that_are_exchanged_too_many_or_of_another_size_are_small_slips(slip: str) -> None:
    assert "Owl" in small_slips(slip)


@pytest.mark.parametrize("slip", ["Forst", "Orest", "Fores", "Porest", "For est", "Forost"])
def test_a_letter_that_is_missing_or_another_one_is_a_great_slip(slip: str) -> None:
    assert "Forest" in [*small_slips(slip), *great_slips(slip)]


def test_short_titles_have_too_many_neighbours() -> None:
    assert great_slips("Owl") == []


@given(st.text(max_size=20))
def test_no_title_is_its_own_slip(title: str) -> None:
    assert title not in [*small_slips(title), *great_slips(title)]
