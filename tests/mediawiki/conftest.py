"""A MediaWiki for all tests that only read, and projects of Detent beside it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.mediawiki import mediawiki
from tests.mediawiki.expanding import Project
from tests.mediawiki.mediawiki import MediaWiki
from tests.mediawiki.pages import all_pages


@pytest.fixture(scope="session")
def wiki() -> Iterator[MediaWiki]:
    """A wiki with all pages, which nobody changes."""
    with _running() as running:
        yield running


@pytest.fixture(scope="module")
def changing_wiki() -> Iterator[MediaWiki]:
    """Another one, for who does."""
    with _running() as running:
        yield running


def _running() -> MediaWiki:
    if lacking := mediawiki.missing():
        pytest.exit(lacking, returncode=1)
    return MediaWiki(all_pages())


@pytest.fixture
def make_project(tmp_path: Path, make_database: Callable[[], str]) -> Callable[[], Project]:
    """Makes projects, each on a database of its own."""
    number = itertools.count(1)
    return lambda: Project(tmp_path / f"project {next(number)}", make_database())
