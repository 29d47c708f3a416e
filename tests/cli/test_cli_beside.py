"""Several programs beside one another on a project's own PostgreSQL, which none of them has for itself."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import detent
from detent import postgres
from detent.errors import DetentError

Result = subprocess.CompletedProcess[str]

HANDLERS = """
import time
from pathlib import Path
import detent
from detent.lifecycle import TOPIC

HERE = Path(__file__).parent

def generate(item):
    (HERE / "begun").touch()
    while not (HERE / "gate").exists():
        time.sleep(0.01)

def discover():
    return [detent.NewItem(key, "Topic") for key in ("first", "second")]

SOURCES = [detent.Source("topics", {"Topic": TOPIC}, [detent.Handler("in_progress", generate)], discover)]
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A project without a database of somebody else's, where the account that PostgreSQL runs under may reach it."""
    made = Path(tempfile.mkdtemp(prefix="detent-beside-"))
    made.chmod(0o755)
    (made / "detent.toml").write_text('[handlers]\nmodules = ["handlers"]\n[worker]\npoll_seconds = 0.2\n')
    (made / "handlers.py").write_text(HANDLERS)
    yield made
    with contextlib.suppress(DetentError):
        postgres.stop(made / ".detent")
    shutil.rmtree(made, ignore_errors=True)


def test_while_a_run_is_under_way_others_look_and_add_and_work(
    folder: Path,
    start: Callable[..., subprocess.Popen[str]],
    ran: Callable[..., Result],
    until: Callable[[Callable[[], object]], None],
) -> None:
    """ANCESTORS 13: while an expansion ran, neither `status` nor the monitor nor the server could open the database."""
    running = start("run", "--concurrency", "1", "--batch-size", "1", cwd=folder)
    until((folder / "begun").exists)

    status = json.loads(ran("status", "--json", cwd=folder).stdout)
    assert (status["totals"]["working"], status["totals"]["waiting"]) == (1, 1)
    assert '"second"' in ran("items", "--state", "pending", "--json", cwd=folder).stdout

    monitor = start("status", "--watch", cwd=folder)
    assert monitor.stdout is not None
    shown = iter(monitor.stdout)
    next(line for line in shown if "2 items: " in line)
    with detent.open(folder) as server:
        assert server.add("topics", "Topic", ["third"]) == 1
        next(line for line in shown if "3 items: " in line)
        second = start("run", cwd=folder)
        until(lambda: len(server.wait(server.asynchronous.store.workers())) == 2)
    monitor.terminate()

    assert running.poll() is None
    (folder / "gate").touch()
    for each in (running, second):
        out, _ = each.communicate(timeout=60)
        assert (each.returncode, out.splitlines()[-1]) == (0, "All 3 items are done.")
