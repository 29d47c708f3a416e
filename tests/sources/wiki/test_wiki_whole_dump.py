"""All of a dump: it is read in its own order, whatever the titles, and its articles have no depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

import detent
from detent.interfaces.expansion_status import get_expansion_status
from detent.sources.wiki.dump import recent
from detent.sources.wiki.dump.page import Dumped
from detent.sources.wiki.dump.recent import Extract
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

STREAMS, PER_STREAM = 12, 100
PAGES = [
    DumpedPage(f"{n * 7 % (STREAMS * PER_STREAM):04} owls", "They hoot.", revision=n + 1)
    for n in range(STREAMS * PER_STREAM)
]
"""Neighbours in the dump are far from each other by their titles."""


def test_a_stream_is_not_unpacked_for_each_of_its_articles(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dumps.write(tmp_path, PAGES)
    unpacked = []
    of = Extract.of

    def counted(read: Iterable[Dumped], wanted: Collection[str]) -> Extract:
        unpacked.append(len(wanted))
        return of(read, wanted)

    monkeypatch.setattr(Extract, "of", counted)
    monkeypatch.setattr(recent, "MOST_BYTES", 250_000)  # two streams and a half
    source = make("wiki", WikiSettings(dump=path, cache=tmp_path / "cache").as_data())
    with detent.open(database=database, sources=source) as db:
        db.run(wait=False)
        status = get_expansion_status(db)
    assert len(unpacked) <= 2 * STREAMS
    assert status is not None
    assert [(share.state, share.count, share.avg_depth) for share in status.distribution] == [
        ("processed", len(PAGES), None)
    ]


def test_a_stream_is_not_unpacked_for_each_redirect_that_leads_there(
    database: str, tmp_path: Path, unpacked: Counter[int]
) -> None:
    pages = [
        replace(page, redirect=PAGES[n * 38 % len(PAGES)].title) if n % 2 else page for n, page in enumerate(PAGES)
    ]
    source = make("wiki", WikiSettings(dump=dumps.write(tmp_path, pages), cache=tmp_path / "cache").as_data())
    with detent.open(database=database, sources=source) as db:
        db.run(wait=False)
        counts = {line.state: line.count for line in db.count_by_state() if line.label == "Article"}
    half = len(PAGES) // 2
    assert (counts["processed"], counts["loaded"]) == (half, half)
    assert unpacked.total() <= 3 * STREAMS


def test_a_refresh_unpacks_each_stream_once_and_one_of_the_same_dump_none(
    database: str, tmp_path: Path, unpacked: Counter[int]
) -> None:
    path = dumps.write(tmp_path, PAGES)
    source = make("wiki", WikiSettings(dump=path, cache=tmp_path / "cache").as_data())
    with detent.open(database=database, sources=source) as db:
        db.run(wait=False)
    dumps.write(tmp_path, [replace(PAGES[0], text="They hunt.", revision=5_000), *PAGES[1:]])
    source = make("wiki", WikiSettings(dump=path, cache=tmp_path / "cache").as_data())
    unpacked.clear()
    with detent.open(database=database, sources=source) as db:
        assert db.refresh() == 1
        # its index is made too, which looks at the first and the last stream, and for one behind
        assert unpacked.total() <= STREAMS + 3
        unpacked.clear()
        assert db.refresh() == 0
        assert not unpacked
