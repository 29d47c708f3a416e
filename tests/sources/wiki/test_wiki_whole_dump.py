"""All of a dump: it is read in its own order, whatever the titles, and its articles have no depth."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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


def test_a_stream_is_not_unpacked_for_each_of_its_articles(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = STREAMS * PER_STREAM
    # neighbours in the dump are far from each other by their titles
    path = dumps.write(tmp_path, [DumpedPage(f"{n * 7 % pages:04} owls", "They hoot.") for n in range(pages)])
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
        ("processed", pages, None)
    ]
