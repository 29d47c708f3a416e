"""The command answers at once because it imports what it uses, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTED = """
import atexit, json, sys
atexit.register(lambda: json.dump(sorted(sys.modules), sys.stderr))
from detent.cli import main
main(sys.argv[1:])
"""

WORKERS = {"detent.worker", "detent.sources", "detent.interfaces", "detent.demo"}
SERVER = {"detent.postgres"}
HEAVY = {"numpy"}
OTHER_COMMANDS = {"detent.cli.run", "detent.cli.database", "detent.cli.items", "detent.cli.config", "detent.cli.story"}


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command has imported when it has ended."""
    command = [sys.executable, "-c", IMPORTED, *arguments]
    ended = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stderr))


def test_status_imports_no_worker_no_server_and_no_other_command(project: Path) -> None:
    assert imported(project, "status") & (WORKERS | SERVER | HEAVY | OTHER_COMMANDS) == set()


@pytest.mark.parametrize("command", ["sources", "items"])
def test_whoever_only_looks_imports_no_worker_and_no_server(project: Path, command: str) -> None:
    assert imported(project, command) & (WORKERS | SERVER | HEAVY) == set()


@pytest.mark.parametrize("command", ["status", "sources", "items", "config", "lifecycles"])
def test_a_document_for_a_program_is_not_drawn(project: Path, command: str) -> None:
    assert "rich" not in imported(project, command, "--json")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["status", "--help"], ["run", "--help"]])
def test_help_needs_neither_the_database_nor_an_event_loop(tmp_path: Path, arguments: list[str]) -> None:
    assert imported(tmp_path, *arguments) & {"psycopg", "asyncio", "rich", *WORKERS, *SERVER} == set()
