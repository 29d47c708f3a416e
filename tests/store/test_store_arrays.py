"""Arrays as they are written for PostgreSQL are read by it as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.store import arrays

Query = Callable[..., list[Any]]

ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from('",\\{} N'))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(ANY_TEXT | st.just("NULL") | st.none(), max_size=6))
def test_texts(query: Query, texts: list[str | None]) -> None:
    [row] = query("SELECT %s::text[] AS texts", arrays.texts(texts))
    assert row.texts == texts


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=6))
def test_integers(query: Query, numbers: list[int | None]) -> None:
    [row] = query("SELECT %s::bigint[] AS numbers", arrays.integers(numbers))
    assert row.numbers == numbers


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers(-9, 9) | st.none(), max_size=3), max_size=4))
def test_documents(query: Query, documents: list[dict[str, Any]]) -> None:
    [row] = query("SELECT %s::jsonb[] AS documents", arrays.documents(documents))
    assert row.documents == documents
