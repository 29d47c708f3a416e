"""Help for who has not read the code, and mistakes that are answered with a sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from detent.cli import items
from detent.cli.program import program

Result = subprocess.CompletedProcess[str]

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=2"


def commands(group: click.Group = program, *above: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


@pytest.mark.parametrize("command", [names for names in commands() if names not in {("db",), ("graph",)}], ids=" ".join)
def test_every_commands_help_has_examples(command: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(program, [*command, "-h"]).output

    assert f"detent {' '.join(command)}" in shown.split("Examples:")[1]
    assert ("  --json " in shown) == ("Fields of the JSON document" in shown)


def test_the_programs_help_documents_its_exit_statuses(said: Callable[..., Result]) -> None:
    shown = said("--help").stdout

    assert all(f" {status} " in shown for status in (0, 1, 2, 3, 70, 130))
    assert "143" in shown


def test_help_does_not_wait_for_what_it_does_not_need(tmp_path: Path) -> None:
    program = "import sys; from detent.cli.program import _status; _status(['--help']); print(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout

    assert not {"rich.console", "rich.live", "detent.cli.display", "detent.cli.ending"} & set(
        out.splitlines()[-1].split()
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["stauts"], "'status'"),
        (["db", "chek"], "'check'"),
        (["items", "--sorce", "x"], "--source"),
        (["lifecycles", "articel"], "'article'"),
    ],
)
def test_unknown_words_get_a_suggestion(said: Callable[..., Result], arguments: list[str], meant: str) -> None:
    result = said(*arguments)

    assert result.returncode == 2
    assert "Did you mean" in result.stderr
    assert meant in result.stderr


def test_the_programs_options_may_stand_before_or_after_the_command(
    said: Callable[..., Result], database: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for arguments in (
        ["--project", str(other), "--database", database, "status"],
        ["status", "--project", str(other), "--database", database],
    ):
        assert "No sources are known yet" in said(*arguments).stdout
    assert not (other / ".detent").exists()


def test_with_the_database_away_nobody_is_asked_and_the_reason_is_told(start: Callable[..., Any]) -> None:
    """ANCESTORS 43: with the database away, the program asked a question on the terminal, at night, under cron."""
    for command in (["status"], ["run"], ["reset", "--all"]):
        process = start("--database", NOWHERE, *command, stdin=subprocess.PIPE)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (2, "")
        assert "The database does not answer" in err
        assert "refused" in err
        assert "Traceback" not in err


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgresql://me:s3cret@db:notaport/x", "its port is not a number from 1 to 65535"),
        ("host=db password=s3 cret", "a word in it has no ="),
        ("host=db pasword=s3cret", "password may be meant"),
        ("postgresql://me:s3@cret@db/x", "is not written as %40"),
    ],
)
def test_a_connection_string_that_cannot_be_read_is_told_at_once_and_without_its_password(
    ran: Callable[..., Result], address: str, reason: str
) -> None:
    for command in (["status"], ["work"], ["db", "info"], ["config"]):
        result = ran("--database", address, *command)
        assert result.returncode == (0 if command == ["config"] else 2)
        if command != ["config"]:
            assert result.stderr.startswith("The database's connection string cannot be read: ")
            assert reason in result.stderr
            assert result.stderr.count("\n") == 1
        assert not re.search("s3|cret", result.stdout + result.stderr)


def test_db_info_says_why_a_server_does_not_answer(said: Callable[..., Result]) -> None:
    result = said("--database", "postgresql://me:secret@127.0.0.1:1/nothing", "db", "info")

    assert result.returncode == 0
    assert "refused" in result.stdout
    assert "secret" not in result.stdout + result.stderr


def test_an_unexpected_error_is_a_sentence_and_shows_its_trace_on_request(
    said: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(items.items, "callback", broken)

    result = said("items")

    assert result.returncode == 70
    assert "ZeroDivisionError: a mistake of ours" in result.stderr
    assert "--trace" in result.stderr
    assert "Traceback" not in result.stderr
    with pytest.raises(ZeroDivisionError):
        said("items", "--trace")
    monkeypatch.setenv("DETENT_TRACE", "1")
    with pytest.raises(ZeroDivisionError):
        said("items")


def test_watch_and_json_do_not_go_together(said: Callable[..., Result]) -> None:
    assert said("status", "--watch", "--json").returncode == 2


def test_version(said: Callable[..., Result]) -> None:
    assert said("--version").stdout.startswith("detent 0.")
