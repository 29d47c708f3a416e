"""A folder of Markdown made searchable, and kept so, beside CocoIndex: the same files, the same model, the same server.

Each program is called three times on a folder of its own: first on what it has never seen, then with nothing changed,
then with a sentence more in the middle of one file in a hundred. Its start counts. CocoIndex runs as its documentation
shows it, and again as it was found to be fastest.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psycopg

import detent
from benchmarks import corpora, postgres, program
from benchmarks.contenders import REPOSITORY
from benchmarks.figures import Figure, at_most
from benchmarks.peers import environment
from benchmarks.taken import Taken, middle, taking

ROUNDS = 3
CHANGED = 0.01
HALF = 0.5
SETTLED_SECONDS = 3.0
"""How old a file is before a run begins: Detent looks once more at what was written within the last two seconds."""
RUNS = ("first run", "nothing changed", "1 % of the files changed")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Holding:
    """How many files a program has taken, and how many texts with vectors it has made of them."""

    files: int
    vectors: int


class Contender(Protocol):
    @property
    def name(self) -> str: ...

    def begin(self, conninfo: str, folder: Path) -> None:
        """Take the folder for the first time."""

    def follow(self, conninfo: str, folder: Path) -> None:
        """Take in what has changed."""

    def holding(self, conninfo: str) -> Holding:
        """What it has now."""

    def finds(self, conninfo: str, word: str) -> str:
        """The file in which it finds a word that stands in one alone; "" if none."""


class Detent:
    """Through its command, as people call it."""

    name = "Detent"

    def begin(self, conninfo: str, folder: Path) -> None:
        self._detent(conninfo, "add", "files", "docs", str(folder))
        self.follow(conninfo, folder)

    def follow(self, conninfo: str, folder: Path) -> None:
        self._detent(conninfo, "run")

    def holding(self, conninfo: str) -> Holding:
        with detent.open(database=conninfo) as opened:
            counts = opened.count_by_state()
        unfinished = [line for line in counts if line.count and line.state not in ("ready", "skip")]
        if unfinished:
            raise RuntimeError(f"Detent has not finished: {unfinished}")
        ready = [line for line in counts if line.state == "ready"]
        return Holding(sum(line.count for line in counts if line.label == "File"), sum(line.count for line in ready))

    def finds(self, conninfo: str, word: str) -> str:
        with detent.open(database=conninfo) as opened:
            hits = opened.search(word, mode="text").hits
        return hits[0].key.partition("#")[0] if hits else ""

    def _detent(self, conninfo: str, *arguments: str) -> None:
        _call([program.DETENT, "--database", conninfo, *arguments])


@dataclass(frozen=True)
class CocoIndex:
    """Through a program of its own, which keeps what it knows beside the folder."""

    python: Path
    way: str

    @property
    def name(self) -> str:
        return "CocoIndex" if self.way == "documented" else f"CocoIndex, {self.way}"

    def begin(self, conninfo: str, folder: Path) -> None:
        self.follow(conninfo, folder)

    def follow(self, conninfo: str, folder: Path) -> None:
        state = str(folder.with_name("state"))
        _call([str(self.python), "-m", "benchmarks.peers.cocoindex_run", self.way, conninfo, str(folder), state])

    def holding(self, conninfo: str) -> Holding:
        return Holding(*self._ask(conninfo, "SELECT count(DISTINCT file), count(embedding) FROM chunk"))

    def finds(self, conninfo: str, word: str) -> str:
        found = self._ask(conninfo, "SELECT min(file) FROM chunk WHERE strpos(text, %s) > 0", word)
        return str(found[0] or "")

    def _ask(self, conninfo: str, statement: str, *parameters: object) -> tuple[int, ...]:
        with psycopg.connect(conninfo) as connection:
            row = connection.execute(statement.encode(), parameters).fetchone()
        assert row is not None
        return row


def _call(command: Sequence[str]) -> None:
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{command[0]} ended with {ended.returncode}:\n{ended.stderr}")


@dataclass
class Found:
    """What the runs of one contender took, and what it had at their end."""

    runs: dict[str, list[Taken]] = field(default_factory=lambda: {run: [] for run in RUNS})
    holding: Holding = Holding(0, 0)


def measure(tell: Tell) -> list[Figure]:
    """A folder of Markdown made searchable, again with nothing changed and with 1 % changed, beside CocoIndex."""
    tell("making ready the files, the peer and the server")
    files = corpora.markdown()
    python = environment.interpreter()
    rivals: list[Contender] = [Detent(), CocoIndex(python, "documented"), CocoIndex(python, "tuned")]
    found = {rival.name: Found() for rival in rivals}
    with postgres.server() as server:
        for turn in range(ROUNDS):
            for rival in rivals if turn % 2 == 0 else reversed(rivals):
                tell(f"round {turn + 1} of {ROUNDS}: {rival.name}, {len(files):,} files")
                with corpora.copied(files) as folder, postgres.empty_database(server) as conninfo:
                    _go_through(rival, conninfo, folder, found[rival.name])
    return list(_figures(files, found))


def _go_through(rival: Contender, conninfo: str, folder: Path, found: Found) -> None:
    """The three runs, and whether all is there after them."""
    _time(rival.begin, conninfo, folder, found.runs[RUNS[0]])
    _require_all(rival, rival.holding(conninfo), folder)
    _time(rival.follow, conninfo, folder, found.runs[RUNS[1]])
    words = _change(folder)
    _time(rival.follow, conninfo, folder, found.runs[RUNS[2]])
    found.holding = rival.holding(conninfo)
    _require_all(rival, found.holding, folder)
    for word, path in words.items():
        at = rival.finds(conninfo, word)
        if not at.endswith(path):
            raise RuntimeError(f"{rival.name} finds {word!r} in {at or 'no file'!r}, and it stands in {path!r}.")


def _time(call: Callable[[str, Path], None], conninfo: str, folder: Path, to: list[Taken]) -> None:
    time.sleep(SETTLED_SECONDS)
    with taking(conninfo) as taken:
        call(conninfo, folder)
    to.append(taken)


def _require_all(rival: Contender, holding: Holding, folder: Path) -> None:
    """A file without a word in it has no chunk, but is a file all the same."""
    files = corpora.files(folder, ".md")
    with_words = sum(bool(path.read_bytes().strip()) for path in files)
    if not with_words <= holding.files <= len(files):
        raise RuntimeError(f"{rival.name} has {holding.files:,} of {len(files):,} files.")


def _change(folder: Path) -> dict[str, str]:
    """Put a sentence into the middle of some files, at the end of a line; returns the word by which to find each."""
    files = corpora.files(folder, ".md")
    step = int(1 / CHANGED)
    words = {}
    for number, path in enumerate(files[step // 2 :: step]):
        word = f"quillon{number:05}"
        lines = path.read_bytes().splitlines(keepends=True)
        lines.insert(len(lines) // 2, f"\n\nThe keeper of {word} lights the lantern at dusk.\n\n".encode())
        path.write_bytes(b"".join(lines))
        words[word] = path.relative_to(folder).as_posix()
    return words


def _figures(files: Sequence[Path], found: dict[str, Found]) -> Iterator[Figure]:
    yield Figure("files", len(files), "files")
    yield Figure("their size", corpora.megabytes(files), "MB")
    for name, each in found.items():
        yield Figure(f"{name}: texts with vectors", each.holding.vectors, "texts")
    for run in RUNS:
        taken = {name: middle(each.runs[run]) for name, each in found.items()}
        for name, it in taken.items():
            yield Figure(f"{run}: {name}", it.seconds, "s")
            yield Figure(f"{run}: {name}, processor", it.processor, "s")
            yield Figure(f"{run}: {name}, processor of the server", it.server, "s")
        own = taken.pop(Detent.name).seconds
        for name, it in taken.items():
            beside = f"{name} {it.seconds:.1f} s"
            yield at_most(HALF, f"{run}: Detent ÷ {name}", own / it.seconds, "times", peer=beside)
