"""A folder that is edited at random, with a crash now and then: in the end the graph is that of the folder as it is."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.sources.files.settings import FolderSettings
from detent.sources.files.source import make

PATHS = (
    *("README.md", "docs/guide.md", "docs/api/index.md", "notes.txt"),
    *("pkg/__init__.py", "pkg/core.py", "pkg/util.py", "pkg/util/__init__.py"),
    *("go.mod", "cmd/main.go", "engine/engine.go", "engine/wheel.go", "engine/wheel_test.go"),
)
IMPORTS = (
    *("import json", "from pkg import util", "from pkg.core import start", "from . import core"),
    *("from pkg import start, Engine", "from pkg.util import helper"),
)
RUN = """
import sys, json, detent
from detent.sources.files.source import make
with detent.open(database=sys.argv[1], sources=make("docs", json.loads(sys.argv[2]))) as db:
    db.run()
"""


def document(chance: random.Random) -> str:
    """Some sections, which link to each other's files."""
    sections = []
    for _ in range(chance.randint(0, 4)):
        target = chance.choice(PATHS)
        sections.append(
            f"{'#' * chance.randint(1, 3)} Heading {chance.randint(1, 4)}\n\n"
            f"Text number {chance.randint(1, 6)} about herons. See [there](/{target}) and `core.start`.\n"
        )
    return "\n".join(sections)


def package(chance: random.Random) -> str:
    """A package that hands on what its modules have, or what they have from others, and has some of its own."""
    names = ", ".join(chance.sample(["start", "stop", "helper", "Engine"], chance.randint(1, 3)))
    return f"from .{chance.choice(['core', 'util'])} import {names}\n{code(chance)}"


def go(chance: random.Random, path: str) -> str:
    """A file of one of two packages, of which one uses the other; what is defined moves from file to file."""
    head = 'package main\nimport "ex.org/m/engine"\n' if path.startswith("cmd/") else "package engine\n"
    names = chance.sample(["Start", "stop", "Wheel"], chance.randint(0, 3))
    bodies = ["engine.Start()", "Start()", "stop()", "var w Wheel", "w := Wheel{}"]
    defined = [
        f"type {name} struct{{}}\nfunc (w *{name}) Turn() {{ w.Stop() }}\n"
        if name == "Wheel"
        else f"func {name}() {{ {chance.choice(bodies)} }}\n"
        for name in names
    ]
    return "\n".join([head, *defined])


def written(chance: random.Random, path: str) -> str:
    """What a file of this name may have in it."""
    if path == "go.mod":
        return f"module ex.org/{chance.choice('mmn')}\n"
    if path.endswith(".go"):
        return go(chance, path)
    if path.endswith("__init__.py"):
        return package(chance)
    return code(chance) if path.endswith(".py") else document(chance)


def code(chance: random.Random) -> str:
    """Some functions, which call each other across files."""
    lines = [chance.choice(IMPORTS)]
    for name in chance.sample(["start", "stop", "helper", "Engine"], chance.randint(0, 4)):
        body = chance.choice(
            ["start()", "helper()", "Engine()", "util.helper()", "json.dumps(1)", "core.stop()", "pass"]
        )
        head = f"class {name}" if name[0].isupper() else f"def {name}()"
        lines.append(f"\n\n{head}:\n    '''What {name} does, version {chance.randint(1, 3)}.'''\n    {body}\n")
    return "\n".join(lines)


class Garden:
    """A folder, changed at random, and the database that follows it."""

    def __init__(self, root: Path, database: str, chance: random.Random) -> None:
        self.root = root
        self.database = database
        self.chance = chance
        self.kept: dict[str, str] = {}

    def change(self) -> None:
        chance = self.chance
        path = chance.choice(PATHS)
        file = self.root / path
        match chance.choice(["write", "write", "write", "move", "delete", "restore"]):
            case "write":
                self.write(path, written(chance, path))
            case "move" if file.exists():
                target = self.root / chance.choice(PATHS)
                target.parent.mkdir(parents=True, exist_ok=True)
                file.rename(target)
            case "delete" if file.exists():
                self.kept[path] = file.read_text()
                file.unlink()
            case "restore" if path in self.kept:
                self.write(path, self.kept[path])

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        past = time.time() - self.chance.uniform(10, 100_000)
        os.utime(file, (past, past))

    def run_and_crash(self) -> None:
        """A run in a process of its own, which is killed at some moment, with all that it started."""
        settings = FolderSettings(self.root).as_data()
        command = [sys.executable, "-c", RUN, self.database, json.dumps(settings)]
        process = subprocess.Popen(
            command, start_new_session=True, env={**os.environ, "DETENT_WORKER_LEASE_SECONDS": "2"}
        )
        time.sleep(self.chance.uniform(0.5, 2.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def digest(self, database: str) -> Any:
        source = make("docs", FolderSettings(self.root).as_data())
        with detent.open(database=database, sources=source) as db:
            db.run()
            return db.graph.digest()


@pytest.mark.parametrize("seed", range(3))
def test_however_it_was_changed_the_graph_is_that_of_the_folder_as_it_is(
    tmp_path: Path, make_database: Callable[[], str], seed: int
) -> None:
    chance = random.Random(seed)
    root = tmp_path / "folder"
    root.mkdir()
    garden = Garden(root, make_database(), chance)
    for _ in range(5):
        for _ in range(chance.randint(2, 12)):
            garden.change()
        if chance.random() < 0.4:
            garden.run_and_crash()
        else:
            garden.digest(garden.database)
    assert garden.digest(garden.database) == garden.digest(make_database())
