"""Secrets that stand in a text: whoever reads it does not see them, however they are written."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.errors import InvalidSetting
from detent.services.secrets import Credential, hidden, hidden_in

WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"), min_size=4, max_size=12)
WRITTEN = [str, quote, quote_plus, lambda text: quote(text, safe=""), lambda text: json.dumps(text)[1:-1]]


@given(WORDS, st.sampled_from(WRITTEN), st.text(st.characters(max_codepoint=126), max_size=10))
def test_a_secret_is_hidden_in_whatever_way_it_is_written(secret: str, write: type[str], around: str) -> None:
    text = f"{around}{write(secret)}{around}"
    assert secret not in hidden(text, [secret])
    assert secret.encode() not in hidden_in(text.encode(), [secret])
    assert "***" in hidden(text, ["", secret])


def test_of_two_secrets_the_longer_is_hidden_whole() -> None:
    assert hidden("abcd and abcdef", ["abcd", "abcdef"]) == "*** and ***"


@pytest.mark.parametrize("value", ["", "two\nlines", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_repeated(value: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        Credential("X-Api-Key", value)
    assert not value or value not in str(refused.value)
