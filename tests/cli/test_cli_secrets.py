"""Secrets of sources are read from the environment or the owner's file, and are kept and shown nowhere else."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.sources.wiki.server import Failing, WikiServer

import detent
from detent.errors import InvalidConfiguration, InvalidSetting
from detent.services import keyring
from detent.services.keyring import Keyring, scrubbed, variable_of
from detent.sources import types

CANARY = "canary/in the mine"
Result = subprocess.CompletedProcess[str]


pytestmark = pytest.mark.usefixtures("forgotten_secrets")


@dataclass
class Recipe:
    """How a source of a type is added, how its service is made to fail while repeating what it was sent, and how it is
    asked again."""

    arguments: list[str]
    fail: Callable[[], object]
    again: list[str]


@pytest.fixture
def recipes(tmp_path: Path) -> Iterator[dict[str, Recipe]]:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "owl.md").write_text("# Owl\n\nIt hunts.\n")
    with WikiServer({"Owl": "It hunts [[mice]].", "Heron": "It waits."}) as wiki:
        echo = Failing(503, {"Retry-After": "1"}, f"<h1>You said {CANARY}, canary%2Fin%20the%20mine</h1>".encode())
        api = wiki.api.replace("//", "//me@")
        yield {
            "files": Recipe([str(notes)], lambda: (notes / "owl.md").write_bytes(b"\xff"), [str(notes)]),
            "wiki": Recipe(
                ["--api", api, "--seed", "Owl"], lambda: wiki.fail_next(*[echo] * 50), ["--add-seed", "Heron"]
            ),
        }


@pytest.mark.parametrize("type_", types.names())
def test_a_secret_of_a_source_is_found_in_no_table_no_output_and_no_log(
    *,
    said: Callable[..., Result],
    ran: Callable[..., Result],
    plain: Path,
    recipes: dict[str, Recipe],
    rows_of_all_tables: Callable[[], str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    type_: str,
) -> None:
    """A type that is registered later needs a recipe here."""
    recipe, logs = recipes[type_], plain / ".detent"
    for name, variable in types.find(type_).secrets.items():
        monkeypatch.setenv(variable or variable_of("birds", name), CANARY)
    caplog.set_level(logging.DEBUG)
    added = said("add", type_, "birds", *recipe.arguments)
    assert added.returncode == 0, added.stderr
    recipe.fail()
    told = [added, ran("run", "--no-wait"), said("add", type_, "birds", *recipe.again)]
    looking = ("sources", "status", "items", "config", "show Owl", "lifecycles")
    told += [said(*command.split(), *more) for command in looking for more in ((), ("--json",))]
    shown = "".join(result.stdout + result.stderr for result in told) + caplog.text + rows_of_all_tables()
    shown += "".join(file.read_bytes().decode(errors="replace") for file in logs.rglob("*") if file.is_file())
    assert "canary" not in shown


def test_a_password_in_an_address_moves_into_the_owners_file(
    said: Callable[..., Result], plain: Path, rows_of_all_tables: Callable[[], str]
) -> None:
    with WikiServer({"Owl": "It hunts."}) as wiki:
        for password in ("old-one", "a/new one"):
            api = wiki.api.replace("//", f"//me:{password.replace('/', '%2F')}@")
            added = said("add", "wiki", "birds", "--api", api, "--seed", "Owl")
            assert added.returncode == 0, added.stderr
        assert "password ***" in said("sources").stdout
    file = plain / ".detent" / "secrets.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert Keyring(plain / ".detent").read("birds", {"password": None}) == {"password": "a/new one"}
    assert "new one" not in rows_of_all_tables()
    assert said("remove", "birds", "--yes").returncode == 0
    assert "birds" not in file.read_text()


async def test_a_password_in_any_other_setting_is_refused(database: str, tmp_path: Path) -> None:
    async with detent.open_async(tmp_path, database=database) as db:
        with pytest.raises(InvalidSetting, match="has a password") as refused:
            await db.add_source("docs", "files", folder=tmp_path, include=["https://me:hunter2@owl.example"])
    assert "hunter2" not in str(refused.value)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    Keyring(tmp_path, {}).keep("birds", {"token": "from the file", "key": 'with "quotes" \\ and \x7f'})
    asked = {"token": None, "key": None, "other": "OWL_KEY", "missing": None}
    found = Keyring(tmp_path, {"DETENT_SECRET_BIRDS_TOKEN": "from outside", "OWL_KEY": "named"}).read("birds", asked)
    assert found == {"token": "from outside", "key": 'with "quotes" \\ and \x7f', "other": "named"}
    assert Keyring(tmp_path, {}).read("birds", {"token": None}) == {"token": "from the file"}


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    Keyring(tmp_path, {}).keep("birds", {"token": "hunter2"})
    (tmp_path / "secrets.toml").chmod(0o640)
    with pytest.raises(InvalidConfiguration, match="chmod 600"):
        Keyring(tmp_path, {}).read("birds", {"token": None})


@pytest.mark.parametrize("text", ["token = hunter2", "token = 'hunter2'", "[birds]\ntoken = 7"])
def test_a_file_that_cannot_be_understood_is_told_without_its_content(tmp_path: Path, text: str) -> None:
    file = tmp_path / "own.toml"
    file.touch(mode=0o600)
    file.write_text(text)
    with pytest.raises(InvalidConfiguration) as refused:
        Keyring(None, {"DETENT_SECRETS_FILE": str(file)}).read("birds", {"token": None})
    assert "hunter2" not in str(refused.value)


def test_without_a_project_there_is_no_file_to_keep_a_secret_in() -> None:
    with pytest.raises(InvalidSetting, match="DETENT_SECRET_MY_BIRDS_TOKEN"):
        Keyring(None, {}).keep("my-birds", {"token": "hunter2"})


def test_secrets_are_taken_out_of_log_records(caplog: pytest.LogCaptureFixture) -> None:
    keyring.know(["hunter2"])
    log = logging.getLogger("owl")
    log.warning("asked with %s", "hunter2")
    try:
        raise ValueError("no hunter2 here")
    except ValueError:
        log.exception("it failed")
    assert "asked with ***" in caplog.text
    assert "hunter2" not in caplog.text
    assert scrubbed("x hunter2 y") == "x *** y"
