"""What is made once of a dump: it is used again, made again when the dump is another, and never found half done."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage, text_of

from detent.sources.wiki.dump import CacheUnwritable, Dump, artifacts, catalogue, unpacking
from detent.sources.wiki.pages import Absent

PAGES = [DumpedPage(f"Owl {number}", f"Text {number}.") for number in range(30)]


@pytest.mark.parametrize("form", dumps.FORMS)
def test_what_was_made_is_used_again(tmp_path: Path, cache: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = dumps.write(tmp_path, PAGES, form, per=10)
    assert text_of(Dump(path, cache), "Owl 7") == "Text 7."
    made = {each.name: each.stat().st_mtime_ns for each in cache.iterdir()}

    def fail(*_: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(catalogue, "make", fail)
    assert text_of(Dump(path, cache), "Owl 8") == "Text 8."
    assert {each.name: each.stat().st_mtime_ns for each in cache.iterdir()} == made


@pytest.mark.parametrize("form", ["xml", "bz2", "multistream"])
def test_another_dump_of_the_same_name_gets_its_own(tmp_path: Path, cache: Path, form: str) -> None:
    path = dumps.write(tmp_path, PAGES, form)
    assert text_of(Dump(path, cache), "Owl 7") == "Text 7."
    dumps.write(tmp_path, [DumpedPage("Other", "Newer."), *PAGES], form)
    assert text_of(Dump(path, cache), "Other") == "Newer."
    assert text_of(Dump(path, cache), "Owl 7") == "Text 7."


def test_a_dump_is_unpacked_once_and_read_from_there(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dumps.write(tmp_path, PAGES, "bz2")
    text_of(Dump(path, cache), "Owl 7")
    [plain] = cache.glob("*.xml")
    assert plain.read_bytes() == dumps.xml(PAGES)

    def fail(*_: object) -> Iterator[bytes]:
        raise AssertionError("unpacked again")

    monkeypatch.setattr(unpacking, "streams", fail)
    assert len(list(Dump(path, cache).pages())) == 30


def test_reading_all_pages_or_titles_makes_nothing(tmp_path: Path, cache: Path) -> None:
    for form in dumps.FORMS:
        dump = Dump(dumps.write(tmp_path, PAGES, form), cache)
        list(dump.pages())
        list(dump.titles())
        dump.site()
    assert not cache.exists()


def test_what_is_spoiled_in_the_cache_is_made_again(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES)
    text_of(Dump(path, cache), "Owl 7")
    [made] = cache.iterdir()
    for wrong in (b"", b"owl", made.read_bytes()[:-5], made.read_bytes()[:100]):
        made.write_bytes(wrong)
        assert text_of(Dump(path, cache), "Owl 7") == "Text 7."
    np.save(made, np.zeros((3, 4)))
    assert text_of(Dump(path, cache), "Owl 7") == "Text 7."


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    path = dumps.write(tmp_path, PAGES)
    with pytest.raises(CacheUnwritable, match=r"cannot be written to .*blocked/cache: .*Free some space there"):
        Dump(path, blocked / "cache").find(["Owl 7"])


def test_an_error_leaves_nothing_half_done(tmp_path: Path, cache: Path) -> None:
    def torn() -> Iterator[catalogue.Pages]:
        yield [b"Owl"], [1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalogue.make(cache / "torn.npy", tmp_path, torn())
    with pytest.raises(KeyboardInterrupt), artifacts.made(cache / "torn.xml", tmp_path) as half:
        half.write_text("half")
        raise KeyboardInterrupt
    assert list(cache.iterdir()) == []


_KILLED = """
import os, signal, sys
from pathlib import Path
from detent.sources.wiki.dump import artifacts
with artifacts.made(Path(sys.argv[1]), Path("dump")) as half:
    half.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_has_left_is_swept_away(cache: Path) -> None:
    target = cache / "owl.xml"
    subprocess.run([sys.executable, "-c", _KILLED, str(target)], check=False)
    [half] = cache.iterdir()
    assert half != target
    with artifacts.made(target, Path("dump")) as mine:
        mine.write_text("whole")
        assert list(cache.iterdir()) == [mine]
    assert list(cache.iterdir()) == [target]
    assert target.read_text() == "whole"


def test_what_another_one_is_making_is_left_to_it(cache: Path) -> None:
    target = cache / "owl.xml"
    with artifacts.made(target, Path("dump")) as first:
        first.write_text("first")
        with artifacts.made(target, Path("dump")) as second:
            second.write_text("second")
        assert target.read_text() == "second"
        assert first.exists()
    assert target.read_text() == "first"
    assert list(cache.iterdir()) == [target]


def test_one_that_is_swept_away_before_it_is_locked_is_begun_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, calls = fcntl.flock, list[int]()

    def swept(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            Path(f"/proc/self/fd/{descriptor}").readlink().unlink()
        if len(calls) == 2:
            raise BlockingIOError
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", swept)
    with artifacts.made(cache / "owl.xml", Path("dump")) as half:
        half.write_text("whole")
    assert (cache / "owl.xml").read_text() == "whole"
    assert len(calls) == 3


def test_many_may_make_and_use_the_same_at_once(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "bz2")
    found: list[str] = []

    def read() -> None:
        found.append(text_of(Dump(path, cache), "Owl 7"))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Text 7."] * 6
    assert len(list(cache.iterdir())) == 2


def test_threads_may_share_a_dump(tmp_path: Path, cache: Path) -> None:
    dump = Dump(dumps.write(tmp_path, PAGES, per=3), cache)
    found: list[str] = []

    def read(number: int) -> None:
        found.extend(text_of(dump, f"Owl {(number + step) % 30}") for step in range(30))

    threads = [threading.Thread(target=read, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(page.text for page in PAGES * 4)


def test_titles_of_the_same_digest_are_told_apart(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = catalogue.digests

    def alike(titles: object) -> catalogue.Numbers:
        return digests([title[-1:] for title in titles])  # type: ignore[attr-defined]

    monkeypatch.setattr(catalogue, "digests", alike)
    for form in ("xml", "multistream", "multistream-bare"):
        dump = Dump(dumps.write(tmp_path, PAGES, form, per=10), cache / form)
        for page in PAGES:
            assert text_of(dump, page.title) == page.text
        assert dump.find(["Hawk 7"])["Hawk 7"] == Absent("There is no page 'Hawk 7' in the dump.")


def test_a_title_that_is_there_a_thousand_times_is_not_read_as_often(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = Dump(dumps.write(tmp_path, [DumpedPage("Owl", "Text.")] * 1_000, "xml"), cache)
    plain, read = unpacking.plain, list[int]()

    def counted(path: Path, offset: int = 0, first: int = unpacking.PIECE) -> Iterator[bytes]:
        read.append(offset)
        return plain(path, offset, first)

    assert text_of(dump, "Owl") == "Text."
    monkeypatch.setattr(unpacking, "plain", counted)
    assert text_of(dump, "Owl") == "Text."
    assert len(read) <= catalogue.MOST_PLACES


@given(st.dictionaries(st.text(max_size=8), st.integers(0, 2**63), max_size=60), st.integers(1, 20))
def test_each_title_is_at_its_place_however_many_runs_are_merged(pages: dict[str, int], per: int) -> None:
    titles, places = [catalogue.encoded(title) for title in pages], list(pages.values())
    batches = [(titles[at : at + per], places[at : at + per]) for at in range(0, len(titles), per)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "_RUN", 7)
        path = Path(folder, "made.npy")
        made = catalogue.make(path, path, batches)
        kept = catalogue.load(path)
        assert kept is not None
        assert len(made) == len(kept) == len(pages)
        for found in (made, kept):
            assert found.places(list(pages)) == [[place] for place in places]
            assert found.places(["no such title"]) == [[]]
            assert found.places([]) == []
