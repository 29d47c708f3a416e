"""`detent db`, `init`, `config`, `lifecycles` and `completion`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import detent
from detent import postgres
from detent.errors import DetentError
from detent.lifecycle import BUILTIN, TOPIC, Lifecycle, mermaid

Result = subprocess.CompletedProcess[str]

INFO = {
    *("server", "address", "running", "error", "version", "data_folder", "socket_folder", "pid", "size_bytes"),
    *("connections", "schema_version", "newest_schema_version", "users", "held"),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the account which PostgreSQL runs under may reach."""
    made = Path(tempfile.mkdtemp(prefix="detent-cli-"))
    made.chmod(0o755)
    yield made
    with contextlib.suppress(DetentError):
        postgres.stop(made / ".detent")
    shutil.rmtree(made, ignore_errors=True)


def test_init_makes_a_project_once(said: Callable[..., Result], tmp_path: Path) -> None:
    place = tmp_path / "my notes"

    first, again = said("init", str(place)), said("init", str(place))

    assert first.stdout.startswith("Made .detent and detent.toml: ")
    assert "detent run" in first.stdout
    assert again.stdout.startswith("Nothing was to be made: ")
    assert "#batch_size = 100" in (place / "detent.toml").read_text()
    assert (place / ".detent").is_dir()


def test_init_of_a_project_that_names_its_modules_has_no_advice(said: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "detent.toml").write_text('[handlers]\nmodules = ["mine"]\n')

    assert said("init").stdout == f"Made .detent: {tmp_path} is a project.\n"


def test_init_keeps_the_settings_that_are_there(said: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "detent.toml").write_text("# mine\n")

    said("init")

    assert (tmp_path / "detent.toml").read_text() == "# mine\n"


def test_config_shows_values_and_where_they_come_from(
    said: Callable[..., Result], document: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "detent.toml").write_text("[worker]\npoll_seconds = 1\n")
    monkeypatch.setenv("DETENT_WORKER_PROCESSES", "7")

    config = document("--database", "postgresql://me:secret@db.example/detent", "config")

    assert set(config) == {"project", "file", "settings"}
    by_name = {each["name"]: each for each in config["settings"]}
    assert set(by_name["database"]) == {"name", "value", "unit", "description", "origin"}
    assert by_name["database"]["value"] == "postgresql://me:***@db.example/detent"
    assert by_name["database"]["origin"] == "flag --database"
    assert by_name["worker.processes"]["origin"] == "environment DETENT_WORKER_PROCESSES"
    assert by_name["worker.poll_seconds"]["origin"].startswith("detent.toml line ")
    shown = said("config").stdout
    assert "300 seconds" in shown
    assert "7 processes" in shown
    monkeypatch.setenv("DETENT_WORKER_PROCESSES", "1")
    shown = said("config").stdout
    assert "1 process " in shown
    assert "1 second " in shown
    assert "default" in shown


def test_a_mistake_in_the_settings_names_the_line(said: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "detent.toml").write_text("[worker]\nbatchsize = 3\n")

    result = said("config")

    assert result.returncode == 2
    assert "line 2" in result.stderr
    assert "Did you mean batch_size?" in result.stderr


def test_lifecycles_as_tables_and_diagrams(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    assert all(name in said("lifecycles").stdout for name in BUILTIN)
    shown = said("lifecycles", "topic").stdout
    assert "in_progress" in shown
    assert "stateDiagram-v2" in shown
    assert said("lifecycles", "topic", "--mermaid").stdout == mermaid(TOPIC)
    [topic] = document("lifecycles", "topic")["lifecycles"]
    assert set(topic) == {"name", "initial", "entries", "states", "moves", "failure_kinds", "mermaid"}
    assert topic["states"][0] == {"state": "pending", "meaning": "waiting"}
    assert topic["moves"][0] == {"state": "pending", "event": "claim", "to": "in_progress"}
    assert said("lifecycles", "topik").stderr.strip() == "There is no lifecycle 'topik'. Did you mean 'topic'?"


def test_a_users_own_lifecycle_is_among_them(opened: detent.Detent, said: Callable[..., Result]) -> None:
    moves = [("new", "claim", "busy"), ("busy", "done", "old"), ("busy", "back", "new"), ("busy", "fail", "broken")]
    opened.declare("mine", "Thing", Lifecycle("thing", "new", moves))

    assert "broken" in said("lifecycles", "thing").stdout


@pytest.mark.usefixtures("project")
def test_db_info_of_a_given_server(said: Callable[..., Result], document: Callable[..., Any]) -> None:
    info = document("db", "info")

    assert set(info) == INFO
    assert (info["server"], info["running"], info["error"]) == ("given", True, None)
    assert info["schema_version"] == info["newest_schema_version"] >= 1
    assert info["size_bytes"] > 1_000_000
    assert "given by the settings" in said("db", "info").stdout


def test_a_server_of_somebody_elses_is_neither_started_nor_stopped(said: Callable[..., Result]) -> None:
    for command in ("start", "stop"):
        result = said("--database", "postgresql://me:secret@db.example/x", "db", command)
        assert result.returncode == 2
        assert "Detent starts and stops only its own." in result.stderr
        assert "secret" not in result.stderr


def test_db_check_finds_and_repairs_wrong_counts(
    opened: detent.Detent, said: Callable[..., Result], document: Callable[..., Any], database: str
) -> None:
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", ["a", "b"])
    assert "Nothing is wrong" in said("db", "check").stdout
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE detent.tally SET count = count + 40")

    found = said("db", "check")
    assert found.returncode == 1
    assert "42" in found.stdout
    assert "--repair" in found.stdout
    repaired = document("db", "check", "--repair")

    assert set(repaired) == {"ok", "problems", "repaired"}
    assert (repaired["ok"], repaired["problems"], len(repaired["repaired"])) == (True, [], 1)
    assert said("db", "check").returncode == 0


@pytest.mark.usefixtures("project")
def test_db_upgrade_says_what_was_applied(said: Callable[..., Result], database: str) -> None:
    assert "The schema is already at version" in said("db", "upgrade").stdout
    with psycopg.connect(database) as connection:
        connection.execute("DROP SCHEMA detent CASCADE")

    assert "Applied 0001 " in said("db", "upgrade").stdout
    assert said("status").returncode == 0


@pytest.mark.usefixtures("project")
def test_a_newer_schema_is_said_and_left_alone(said: Callable[..., Result], database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO detent.migration (number, name) VALUES (9999, 'later')")

    for command in (["status"], ["db", "upgrade"]):
        result = said(*command)
        assert result.returncode == 2
        assert "upgrade this one too" in result.stderr
    assert said("db", "info").returncode == 0


def test_db_prune_drops_whole_old_months(opened: detent.Detent, said: Callable[..., Result], project: Path) -> None:
    old = datetime.now(UTC) - timedelta(days=400)
    opened.wait(opened.asynchronous.store.journal.extend(old, months=2))

    unset = said("db", "prune")
    assert unset.returncode == 2
    assert "journal.retention_days is unset" in unset.stderr
    assert "nothing was dropped" in said("db", "prune", "--keep-days", "3650").stdout
    assert (
        f"Dropped the moves of {old:%Y-%m}"
        in said("db", "prune", "--before", f"{old + timedelta(days=32):%Y-%m-%d}").stdout
    )
    with (project / "detent.toml").open("a") as settings:
        settings.write("\n[journal]\nretention_days = 100\n")
    assert "Dropped the moves of " in said("db", "prune").stdout
    assert "is no day or time" in said("db", "prune", "--before", "soon").stderr


def test_db_prune_asks_before_it_drops_this_month(
    opened: detent.Detent, said: Callable[..., Result], ran: Callable[..., Result]
) -> None:
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", ["a", "b"])
    [item] = opened.claim(TOPIC, "pending", owner="somebody", limit=1)
    opened.settle([(item, detent.Done())])

    refused = ran("db", "prune", "--before", "2999-01-01")
    assert refused.returncode == 2
    assert "2999-01-01 is in the future. Drop this month's moves too? There is no terminal" in refused.stderr
    assert "pending → in_progress" in said("show", "a").stdout

    assert said("db", "prune", "--before", "2999-01-01", "--yes").returncode == 0
    assert "Its moves are no longer in the journal: `detent db prune` dropped them." in said("show", "a").stdout
    assert "It has not moved yet." in said("show", "b").stdout


def test_the_own_server_starts_with_a_command_and_stays_if_it_is_held(
    folder: Path, said: Callable[..., Result]
) -> None:
    def own(*arguments: str) -> Result:
        result = said("--project", str(folder), *arguments)
        assert result.returncode == 0, result.stderr
        return result

    own("init")
    info = json.loads(own("db", "info", "--json").stdout)
    assert set(info) == INFO
    assert (info["server"], info["running"], info["data_folder"]) == ("own", False, None)
    assert not (folder / ".detent" / "data").exists()

    assert "is running until `detent db stop`" in own("db", "start").stdout
    info = json.loads(own("db", "info", "--json").stdout)
    assert (info["running"], info["held"], info["users"]) == (True, True, [])
    assert "No sources are known yet" in own("status").stdout
    assert "has stopped" in own("db", "stop").stdout
    assert "was not running" in own("db", "stop").stdout


def test_the_own_server_that_dies_during_a_run_is_started_again(
    folder: Path, start: Callable[..., subprocess.Popen[str]], until: Callable[[Callable[[], object]], None]
) -> None:
    (folder / "handlers.py").write_text(
        "import time\nfrom pathlib import Path\nimport detent\nfrom detent.lifecycle import TOPIC\n"
        "def generate(item):\n    Path('begun').touch()\n"
        "    while not Path('gate').exists():\n        time.sleep(0.01)\n"
        "SOURCES = [detent.Source('t', {'T': TOPIC}, [detent.Handler('in_progress', generate)],\n"
        "                         lambda: [detent.NewItem(str(n), 'T') for n in range(20)])]\n"
    )
    process = start("run", "--modules", "handlers", "--concurrency", "1", cwd=folder)
    until((folder / "begun").exists)
    server = postgres.describe(folder / ".detent").pid
    assert server is not None

    os.kill(server, signal.SIGKILL)
    (folder / "gate").touch()

    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "All 20 items are done.\n"), err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(said: Callable[..., Result], shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("there is no bash here")

    script = said("completion", shell).stdout

    assert script.startswith(f"# Completion of detent for {shell}.")
    assert "_DETENT_COMPLETE" in script


def test_completion_completes_commands_and_options(ran: Callable[..., Result]) -> None:
    words = {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": "detent st", "COMP_CWORD": "1", "PATH": ""}
    assert "plain,status" in ran(env=words).stdout
