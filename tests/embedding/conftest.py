"""Tests of the models themselves."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_model() -> None:
    """Here each test reads a model of its own."""
