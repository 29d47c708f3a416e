"""Scenes for the command line: a project folder, its handlers, and the command in and out of this process."""

from __future__ import annotations

import gc
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import detent as library
from detent.cli import main

Result = subprocess.CompletedProcess[str]

COMMAND = [sys.executable, "-c", "from detent.cli import main; main()"]
ON_TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
from detent.cli import main
main()
"""
PATIENCE_SECONDS = 60.0

PRELUDE = """
import os, time
from pathlib import Path
import detent
from detent.lifecycle import NODE, TOPIC

HERE = Path(__file__).parent

def topics(generate, keys, **details):
    def discover():
        return [detent.NewItem(key, "Topic") for key in keys]
    return detent.Source("topics", {"Topic": TOPIC}, [detent.Handler("in_progress", generate, **details)], discover)
"""


@pytest.fixture
def project(tmp_path: Path, database: str) -> Path:
    """A project on a database of its own, whose sources are in `handlers.py`."""
    settings = f"""
    database = {json.dumps(database)}
    [handlers]
    modules = ["handlers"]
    [worker]
    poll_seconds = 0.2
    [retry]
    base_seconds = 0.2
    """
    (tmp_path / "detent.toml").write_text(settings)
    return tmp_path


@pytest.fixture
def handlers(project: Path) -> Callable[[str], None]:
    """Writes the project's module; PRELUDE stands above it."""

    def write(text: str) -> None:
        (project / "handlers.py").write_text(PRELUDE + text)

    return write


@pytest.fixture
def opened(database: str, project: Path) -> Iterator[library.Detent]:
    """The project's database, from Python."""
    with library.open(database=database) as found:
        yield found


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command in this process, in the project's folder if there is one."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        threshold = gc.get_threshold()
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        gc.unfreeze()  # this process goes on
        gc.set_threshold(*threshold)
        out, err = capsys.readouterr()
        status = left.value.code
        assert isinstance(status, int)
        return subprocess.CompletedProcess(arguments, status, out, err)

    return call


@pytest.fixture
def document(said: Callable[..., Result]) -> Callable[..., Any]:
    """Calls the command with --json and reads its document."""

    def call(*arguments: str) -> Any:
        result = said(*arguments, "--json")
        assert result.stderr == ""
        return json.loads(result.stdout)

    return call


@pytest.fixture
def start(project: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command as a process of its own, without a terminal."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **details: Any) -> subprocess.Popen[str]:
        usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": project}
        process = subprocess.Popen([*COMMAND, *arguments], text=True, **{**usual, **details})
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def ran(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., Result]:
    """Runs the command as a process of its own, to its end."""

    def run(*arguments: str, **details: Any) -> Result:
        process = start(*arguments, **details)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return run


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Waits until something is true."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not come true"
            time.sleep(0.02)

    return wait


class Terminal:
    """The command on a terminal: what it shows, and keys that are pressed."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        ours, its = pty.openpty()
        self._ours = ours
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_TERMINAL, *arguments],
            cwd=folder,
            stdin=its,
            stdout=its,
            stderr=its,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
            start_new_session=True,
        )
        os.close(its)
        self.shown = ""

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words not in self.shown:
            assert time.monotonic() < deadline, f"{words!r} was not shown in: {self.shown}"
            assert self.read(), f"it ended without showing {words!r}: {self.shown}"

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read(self) -> bool:
        """Read a little; False at the end."""
        if not select.select([self._ours], [], [], 0.5)[0]:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

    def end(self) -> int:
        while self.read():
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(project: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts the command on a terminal of its own."""
    made: list[Terminal] = []

    def begin(*arguments: str, **environment: str) -> Terminal:
        made.append(Terminal(project, *arguments, **environment))
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def plain(project: Path) -> Path:
    """A project without modules."""
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))
    return project
