"""Expansions of a wiki in processes of their own, which can be held up, stopped and killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import family, kill
from tests.sources.wiki.server import WikiServer

import detent
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make

PATIENCE_SECONDS = 120.0

_RUN = """
import json, sys
import detent
from detent.sources.wiki.source import make
with detent.open(database=sys.argv[1], sources=make("wiki", json.loads(sys.argv[2]))) as db:
    db.run()
"""


class Expansion:
    """An expansion in a process of its own, whose keeper is in another one. `first` is done there before it begins;
    `settings` are what its worker does otherwise than by default."""

    def __init__(self, database: str, wiki: WikiSettings, errors: Path, *, first: str = "", **settings: object) -> None:
        command = [sys.executable, "-c", first + _RUN, database, json.dumps(wiki.as_data())]
        given = {"lease_seconds": 5, "poll_seconds": 0.2, **settings}
        environment = {f"DETENT_WORKER_{name.upper()}": str(value) for name, value in given.items()}
        self._errors = errors
        with errors.open("wb") as written:
            self._process = subprocess.Popen(command, stderr=written, env={**os.environ, **environment})

    @property
    def said(self) -> str:
        """What it has complained of so far."""
        return self._errors.read_text()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> int:
        """Wait until it ends by itself; its status."""
        return self._process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """Kill the worker, whose keeper gives back what it held."""
        self._process.kill()
        self._process.wait()

    def vanish(self) -> None:
        """Kill the keeper too, so that nobody is left to give anything back."""
        kill(self._process)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it and its keeper stand still meanwhile, as if their machine was out of reach."""
        everyone = family(self._process)
        for each in everyone:
            each.suspend()
        try:
            yield
        finally:
            for each in everyone:
                each.resume()


def expanded(database: str, settings: WikiSettings) -> str:
    """Expand in this process; returns the digest of the graph."""
    with detent.open(database=database, sources=make("wiki", settings.as_data())) as db:
        db.run()
        return db.graph.digest().digest


def web(number: int, seed: int = 1) -> dict[str, str]:
    """Pages that link to each other, with sections and categories."""
    chance = random.Random(seed)
    names = [f"Page {each}" for each in range(number)]
    return {
        name: f"The lead of {name}.\n== Links ==\n"
        + " ".join(f"[[{other}]]" for other in chance.sample(names, 3))
        + f"\n==== Deep ====\nDeep in {name}.\n[[Category:Of {chance.randrange(5)}]]"
        for name in names
    }


def fetched(wiki: WikiServer) -> Counter[str]:
    """How often the wiki was asked for the text of each title."""
    return Counter(
        title
        for each in wiki.requests
        if "revisions" in each.parameters.get("prop", "")
        for title in each.parameters["titles"].split("|")
    )


def until(condition: Callable[[], object]) -> None:
    """Wait for something to become true in another process."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
