"""Commands where something that they need is missing: a project, a folder, somewhere to write to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Result = subprocess.CompletedProcess[str]

LOOKING = [
    *("status", "status --watch", "items", "show a", "sources", "retry --all", "reset --all --yes", "pause a"),
    *("resume a", "db check", "db info", "db prune --keep-days 90", "db upgrade"),
    *("search a", "similar a", "suggest a", "remove a --yes"),
]


@pytest.mark.parametrize("command", LOOKING)
def test_looking_makes_no_project(said: Callable[..., Result], tmp_path: Path, command: str) -> None:
    result = said(*command.split())

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"There is no Detent project in {tmp_path} or above it. `detent init` makes one.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_named_folder_without_a_project_is_left_as_it_is(said: Callable[..., Result], tmp_path: Path) -> None:
    result = said("status", "--project", str(tmp_path))

    assert result.returncode == 2
    assert result.stderr == f"There is no Detent project in {tmp_path}. `detent init {tmp_path}` makes one.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["config", "lifecycles", "completion bash", "db stop"])
def test_some_commands_need_no_project(said: Callable[..., Result], tmp_path: Path, command: str) -> None:
    assert said(*command.split()).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["status", "run", "work", "config", "db start", "db info"])
def test_a_project_in_a_folder_that_does_not_exist_is_a_mistake(
    said: Callable[..., Result], tmp_path: Path, command: str
) -> None:
    typo = tmp_path / "typo"

    result = said("--project", str(typo), *command.split())

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"There is no folder {typo}. Name the folder of your project")
    assert not typo.exists()


def test_init_makes_the_folder_of_the_option(said: Callable[..., Result], tmp_path: Path) -> None:
    assert said("--project", str(tmp_path / "new"), "init").returncode == 0
    assert (tmp_path / "new" / ".detent").is_dir()


def test_a_folder_that_cannot_become_a_project_is_a_mistake(said: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = said("init", str(tmp_path / "file" / "below"))

    assert result.returncode == 2
    assert result.stderr == f"{tmp_path / 'file' / 'below'} cannot become a project: Not a directory.\n"


def test_the_package_runs_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "detent"]

    shown = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True, cwd=tmp_path)
    failed = subprocess.run([*command, "status"], check=False, capture_output=True, text=True, cwd=tmp_path)

    assert shown.stdout.startswith("detent ")
    assert failed.returncode == 2


def through_the_shell(folder: Path, script: str) -> Result:
    """A script in which "$@" is the command."""
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "detent"]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", ["status", "status --json", "config", "--help"])
def test_output_that_cannot_be_written_is_told(project: Path, arguments: str) -> None:
    result = through_the_shell(project, f'"$@" {arguments} > /dev/full')

    assert (result.returncode, result.stdout) == (74, "")
    assert result.stderr == "The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("arguments", ["status", "status --json"])
def test_a_closed_output_is_told(project: Path, arguments: str) -> None:
    result = through_the_shell(project, f'"$@" {arguments} >&-')

    assert result.returncode == 74
    assert result.stderr == "The output cannot be written: it is closed (> /dev/null does without it).\n"


def test_without_a_place_for_complaints_or_answers_it_goes_on(project: Path) -> None:
    assert through_the_shell(project, '"$@" status 2>&-').returncode == 0
    closed = through_the_shell(project, '"$@" db prune --before 2999-01-01 <&-')
    assert closed.returncode == 2
    assert "Add --yes" in closed.stderr


@pytest.mark.parametrize("arguments", ["status", "run", "init", "db start"])
def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, arguments: str) -> None:
    (tmp_path / "gone").mkdir()

    result = through_the_shell(tmp_path / "gone", f'rmdir ../gone && "$@" {arguments}')

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "The working directory does not exist any more. Change to another one.\n"


def test_a_folder_that_may_not_be_written_is_a_mistake(said: Callable[..., Result]) -> None:
    """Nobody makes folders in /proc, not even root."""
    assert said("init", "/proc/project").returncode == 2
