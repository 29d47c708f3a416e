"""Detent on its command line: a project on a database of its own, a wiki in it, and what came of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from tests.processes import kill

Result = subprocess.CompletedProcess[str]

_COMMAND = [sys.executable, "-c", "from detent.cli import main; main()"]
_PATIENCE_SECONDS = 120.0
_NODES = """
SELECT label, key, title, text, properties::text FROM node JOIN item ON item.id = item_id JOIN kind ON kind.id = kind_id
"""
_LINKS = """
SELECT item.key, position, type, reference.key, properties::text FROM reference JOIN item ON item.id = item_id
UNION ALL SELECT key, 0, 'another name', said_key, '' FROM alias_claim
"""
_STATES = "SELECT key, state FROM item JOIN kind ON kind.id = kind_id WHERE label = 'Article'"
_PROGRESS = "SELECT count(*) + count(*) FILTER (WHERE state IN ('ready', 'skip')) FROM item"


@dataclass(frozen=True)
class Expansion:
    """What came of a wiki. `content` are the nodes and links that the digest is made of, `ends` the titles with the
    states that they have come to."""

    content: frozenset[Any]
    ends: frozenset[tuple[str, str]]
    digest: dict[str, Any]

    def require(self, other: Expansion, *, ends: bool = True) -> None:
        """That it is the same as another one."""
        difference = self.content ^ other.content
        assert not difference, sorted(difference)[:10]
        ended = self.ends ^ other.ends if ends else ()
        assert not ended, sorted(ended)[:10]
        assert self.digest == other.digest


class Project:
    """A folder with Detent's settings. What is killed in it is taken up again at once, and as often as it takes."""

    def __init__(self, folder: Path, database: str) -> None:
        self.database = database
        self._folder = folder
        settings = f"""
        database = {json.dumps(database)}
        [worker]
        poll_seconds = 0.1
        max_attempts = 50
        [retry]
        base_seconds = 0.1
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "detent.toml").write_text(settings)

    def command(self, *arguments: str) -> Result:
        """Call the command, to its end."""
        process = self._start(*arguments)
        try:
            out, err = process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            kill(process)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def add(self, seeds: Sequence[str], *place: str, depth: int = 3) -> None:
        """Add the wiki at a place as a source."""
        named = [word for seed in seeds for word in ("--seed", seed)]
        result = self.command("add", "wiki", "owls", *place, "--depth", str(depth), *named)
        assert result.returncode == 0, result.stderr

    def run(self, *arguments: str) -> None:
        """Work until nothing is left. That articles are missing, or are none, is what this wiki is about."""
        result = self.command("run", *arguments)
        assert result.returncode in (0, 1), result.stderr

    def run_and_kill(self, progress: int, patience_seconds: float) -> bool:
        """Work until so much is done, and a moment longer, and kill every process then; False if it ended before."""
        process = self._start("run", "--batch-size", "10")
        try:
            with self._connect() as connection:
                while process.poll() is None and connection.execute(_PROGRESS).fetchall()[0][0] < progress:
                    time.sleep(0.005)
            with suppress(subprocess.TimeoutExpired):
                process.wait(patience_seconds)
            ended = process.poll() is not None
        finally:
            kill(process)
            _, said = process.communicate()
        assert not ended or process.returncode in (0, 1), said
        return not ended

    def result(self) -> Expansion:
        """What has become of it."""
        content = frozenset([*self.ask(_NODES), *self.ask(_LINKS)])
        return Expansion(content, frozenset(self.ask(_STATES)), self.digest())

    def progress(self) -> int:
        """How far the work has come: items that were found, and those that are embedded."""
        found: int = self.ask(_PROGRESS)[0][0]
        return found

    def digest(self) -> dict[str, Any]:
        result = self.command("graph", "digest", "--json")
        assert result.returncode == 0, result.stderr
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    def ask(self, statement: str) -> list[Any]:
        """The rows of a query behind Detent's back."""
        with self._connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.database, autocommit=True, options="-c search_path=detent,public")

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_COMMAND, *arguments],
            cwd=self._folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
