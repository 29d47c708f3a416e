"""Fetched pages: seeds that were checked when a wiki was added are kept, so that its first run need not ask again.

They lie in a file of the project, for an hour at most, until a worker takes them. The file only saves requests: where
it is missing or damaged, pages are fetched.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from detent.sources.wiki.pages import Page

_FILE = "seeds.sqlite"
_FRESH_SECONDS = 3_600.0
_WAIT_SECONDS = 2.0
_AT_ONCE = 500
"""Titles in one question; SQLite takes a thousand."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS page (wiki text, title text, at real, page text, PRIMARY KEY (wiki, title))"
_KEEP = "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?)"
_TAKE = "DELETE FROM page WHERE wiki = ? AND at > ? AND title IN ({}) RETURNING page"
_FORGET_OLD = "DELETE FROM page WHERE at <= ?"
_FORGET = "DELETE FROM page WHERE wiki = ?"


class FetchedPages:
    """The pages of one wiki that were fetched and are not loaded yet. Processes may share them."""

    def __init__(self, folder: Path, wiki: str) -> None:
        self._file = folder / _FILE
        self._wiki = wiki

    def keep(self, pages: Sequence[Page]) -> None:
        now = time.time()
        with suppress(OSError, sqlite3.Error):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch(mode=0o600)
            with self._opened() as database:
                database.execute(_SCHEMA)
                database.execute(_FORGET_OLD, (now - _FRESH_SECONDS,))
                database.executemany(_KEEP, [(self._wiki, page.title, now, _written(page)) for page in pages])

    def take(self, titles: Sequence[str]) -> dict[str, Page]:
        """The pages that are kept of these titles, which are not kept any more."""
        found: dict[str, Page] = {}
        if not self._file.exists():
            return found
        oldest = time.time() - _FRESH_SECONDS
        with suppress(OSError, sqlite3.Error, ValueError, TypeError), self._opened() as database:
            for start in range(0, len(titles), _AT_ONCE):
                some = titles[start : start + _AT_ONCE]
                taken = database.execute(_TAKE.format(",".join("?" * len(some))), (self._wiki, oldest, *some))
                found |= {page.title: page for (text,) in taken.fetchall() if (page := _read(text))}
        return found

    def forget(self) -> None:
        """Keep none of this wiki's pages any more."""
        if self._file.exists():
            with suppress(OSError, sqlite3.Error), self._opened() as database:
                database.execute(_FORGET, (self._wiki,))
                database.execute(_FORGET_OLD, (time.time() - _FRESH_SECONDS,))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=_WAIT_SECONDS)) as database, database:
            yield database


def _written(page: Page) -> str:
    return json.dumps({**asdict(page), "hidden": sorted(page.hidden)})


def _read(text: str) -> Page:
    fields = json.loads(text)
    return Page(**{**fields, "hidden": frozenset(fields["hidden"])})
