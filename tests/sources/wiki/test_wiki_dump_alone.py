"""Many processes want the same of a dump: one makes it, the others wait for that, and whoever dies keeps nobody."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

from detent.sources.wiki.dump import CacheUnwritable, Dump, artifacts, catalogue, unpacking
from detent.sources.wiki.dump.forms import form_of
from detent.sources.wiki.dump.markup import SiteInfo
from detent.sources.wiki.pages import Page

PAGES = [DumpedPage(f"Owl {number}", f"Text {number}.") for number in range(30)]
OTHERS = 3

_HOLDING = """
import sys
from pathlib import Path
from detent.sources.wiki.dump import artifacts
with artifacts.alone(Path(sys.argv[1]), Path("dump")), artifacts.made(Path(sys.argv[1]), Path("dump")):
    print("has it", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Is released by each who has to wait for a lock."""
    flock, waits = fcntl.flock, threading.Semaphore(0)

    def told(file: IO[bytes] | int, operation: int) -> None:
        try:
            flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if operation & fcntl.LOCK_NB:
                raise
            waits.release()
            flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", told)
    return waits


@pytest.fixture
def held() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Starts a process that makes a file and does not come to an end of it."""
    started: list[subprocess.Popen[str]] = []

    def start(target: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _HOLDING, str(target)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "has it\n"
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("form", ["bz2", "multistream", "multistream-bare"])
def test_what_many_need_is_made_by_one_while_the_others_wait(
    tmp_path: Path, cache: Path, form: str, waiting: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dumps.write(tmp_path, PAGES, form, per=10)
    make, makers = catalogue.make, list[Path]()

    def made(place: Path, source: Path, pages: Iterable[catalogue.Pages]) -> catalogue.Catalogue:
        makers.append(place)
        if len(makers) == 1:
            for _ in range(OTHERS):
                waiting.acquire()
        else:
            waiting.release(OTHERS)
        return make(place, source, pages)

    monkeypatch.setattr(catalogue, "make", made)
    found: list[int] = []
    _at_once(1 + OTHERS, lambda: found.append(len(form_of(path, cache, SiteInfo()).catalogue())))
    assert len(makers) == 1
    assert found == [len(PAGES)] * (1 + OTHERS)
    assert not list(cache.glob("*.lock"))


def test_a_file_is_unpacked_by_one_while_the_others_wait(
    tmp_path: Path, cache: Path, waiting: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dumps.write(tmp_path, PAGES, "gz")
    [[place]] = form_of(path, cache, SiteInfo()).catalogue().places(["Owl 7"])
    [plain] = cache.glob("*.xml")
    plain.unlink()
    pieces, unpacked = unpacking.pieces, list[Path]()

    def counted(packed: Path) -> Iterator[bytes]:
        unpacked.append(packed)
        for _ in range(OTHERS if len(unpacked) == 1 else 0):
            waiting.acquire()
        if len(unpacked) > 1:
            waiting.release(OTHERS)
        return pieces(packed)

    monkeypatch.setattr(unpacking, "pieces", counted)
    found: list[str] = []
    _at_once(1 + OTHERS, lambda: found.extend(page.text for page in form_of(path, cache, SiteInfo()).read(place)))
    assert len(unpacked) == 1
    assert found == ["Text 7."] * (1 + OTHERS)
    assert plain.read_bytes() == dumps.xml(PAGES)


def test_who_waits_for_a_process_that_dies_takes_its_place(
    tmp_path: Path, cache: Path, held: Callable[[Path], subprocess.Popen[str]], waiting: threading.Semaphore
) -> None:
    path = dumps.write(tmp_path, PAGES, "xml")
    target = cache / artifacts.name("pages.npy", path)
    child = held(target)
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(Dump(path, cache).find(["Owl 7"])["Owl 7"]))
    thread.start()
    waiting.acquire()
    assert not answers
    child.kill()
    thread.join()
    assert isinstance(answers[0], Page)
    assert list(cache.iterdir()) == [target]


def test_what_dead_processes_have_left_is_tidied_and_what_the_living_hold_is_not(
    tmp_path: Path, cache: Path, held: Callable[[Path], subprocess.Popen[str]]
) -> None:
    path = dumps.write(tmp_path, PAGES, "xml")
    child = held(cache / artifacts.name("pages.npy", path))
    left = sorted(each.suffix for each in cache.iterdir())
    assert left == [".half", ".lock"]
    Dump(path, cache).tidy([])
    assert sorted(each.suffix for each in cache.iterdir()) == left
    child.kill()
    child.wait()
    Dump(path, cache).tidy([])
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("form", ["bz2", "multistream"])
def test_where_files_cannot_be_locked_all_is_made_nevertheless(
    tmp_path: Path, cache: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = dumps.write(tmp_path, PAGES, form)
    dump = Dump(path, cache)
    assert isinstance(dump.find(["Owl 7"])["Owl 7"], Page)
    assert not [each for each in cache.iterdir() if each.suffix in (".lock", ".half")]
    dump.tidy([])
    assert list(cache.iterdir()) == []


def test_a_lock_that_cannot_be_written_is_told_as_a_cache_that_cannot(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "xml")
    (cache / f"{artifacts.name('pages.npy', path)}.lock").mkdir(parents=True)
    with pytest.raises(CacheUnwritable, match=r"cannot be written to .*cache: Is a directory\. Free some space there"):
        Dump(path, cache).find(["Owl 7"])


def test_an_error_in_making_lets_the_next_one_make(cache: Path) -> None:
    target = cache / "owl.xml"
    with pytest.raises(KeyboardInterrupt), artifacts.alone(target, Path("dump")):
        raise KeyboardInterrupt
    with artifacts.alone(target, Path("dump")):
        assert [each.name for each in cache.iterdir()] == ["owl.xml.lock"]
    assert list(cache.iterdir()) == []


def _at_once(count: int, do: Callable[[], object]) -> None:
    threads = [threading.Thread(target=do) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
