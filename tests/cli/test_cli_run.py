"""`detent run`: until nothing is left, and its last line and exit status tell the truth."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.configuration import SETTINGS
from detent.lifecycle import ARTICLE, PASSAGE, TOPIC

Result = subprocess.CompletedProcess[str]


def last_line(result: Result) -> str:
    return result.stdout.strip().splitlines()[-1]


def test_everything_done_ends_with_status_0(
    handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: detent.Done(), [f'topic {n}' for n in range(1003)])]")

    result = ran("run")

    assert result.returncode == 0
    assert last_line(result) == "All 1,003 items are done."
    assert {line.state: line.count for line in opened.count_by_state()} == {"success": 1003}


def test_progress_without_a_terminal_is_lines_with_n_of_m(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    """ANCESTORS 45: no N of M, no rate, no ETA, no reason."""
    handlers("SOURCES = [topics(lambda item: time.sleep(0.01), [str(n) for n in range(200)])]")

    result = ran("run", "--concurrency", "1")

    assert "Discovered 200 new items." in result.stderr
    lines = [line for line in result.stderr.splitlines() if "topics/Topic in_progress:" in line]
    assert "200 of 200 done" in lines[-1]
    assert "/s" in lines[-1]
    assert len(lines) == len(set(lines)) <= 4
    assert "\x1b" not in result.stderr + result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_failures_are_counted_in_the_last_line_with_the_command_that_shows_them(
    handlers: Callable[[str], None], ran: Callable[..., Result], document: Callable[..., Any]
) -> None:
    """ANCESTORS 27: a run reports success while part of its input is missing."""
    handlers("""
def generate(item):
    if item.key == "7":
        raise TimeoutError("again and again")
    return detent.Failed("nothing is known") if item.key.endswith("7") else detent.Done()
SOURCES = [topics(generate, [str(n) for n in range(100)])]
""")

    result = ran("run", "--max-attempts", "1")

    assert result.returncode == 1
    assert last_line(result) == "10 of 100 items failed: detent items --state failed"
    errors = {item["key"]: item["error"] for item in document("items", "--state", "failed")["items"]}
    assert errors["17"] == "nothing is known"
    assert "1 of 1 attempts failed" in errors["7"]
    story = document("show", "17")["history"]
    assert [entry["to_state"] for entry in story] == ["in_progress", "failed"]
    assert story[1]["reason"] == "nothing is known"
    assert story[1]["took"] > 0


def test_a_retry_is_waited_for(handlers: Callable[[str], None], ran: Callable[..., Result]) -> None:
    handlers("""
def generate(item):
    if item.attempt == 1:
        raise TimeoutError("too slow")
    return detent.Done()
SOURCES = [topics(generate, ["a", "b", "c"])]
""")

    result = ran("run")

    assert result.returncode == 0
    assert last_line(result) == "All 3 items are done."


def test_it_says_how_many_wait_for_later_and_until_when(
    handlers: Callable[[str], None], start: Callable[..., subprocess.Popen[str]]
) -> None:
    handlers("""
def generate(item):
    if item.key == "slow":
        return detent.Retry("come back later", detent.Trouble.RATE_LIMITED, retry_after=3600)
SOURCES = [topics(generate, ["slow", "quick"])]
""")

    process = start("run")

    assert process.stderr is not None
    told = next(line for line in process.stderr if "later retry" in line)
    assert "1 item waits for a later retry, the first until 20" in told
    assert told.endswith(": come back later\n")
    process.terminate()
    assert process.wait(30) == 143


def test_no_wait_ends_with_status_3_and_says_what_is_left(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    handlers("""
def generate(item):
    if item.key == "slow":
        return detent.Retry("come back later", detent.Trouble.RATE_LIMITED, retry_after=3600)
SOURCES = [topics(generate, ["slow", "quick"])]
""")

    result = ran("run", "--no-wait")

    assert result.returncode == 3
    assert last_line(result).startswith("1 item waits for a later retry, the first until 20")
    assert last_line(result).endswith(": `detent run` retries them then. come back later")


def test_a_reason_to_wait_is_one_line_that_moves_no_cursor(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    handlers("""
def generate(item):
    return detent.Retry("come\\nback \\x1b[31m" + "later " * 100, detent.Trouble.RATE_LIMITED, retry_after=3600)
SOURCES = [topics(generate, ["slow"])]
""")

    told = last_line(ran("run", "--no-wait"))

    assert "retries them then. come back \\x1b[31mlater later" in told
    assert told.endswith("later …")


def test_two_processes_share_the_work(
    handlers: Callable[[str], None], ran: Callable[..., Result], project: Path, opened: detent.Detent
) -> None:
    handlers("""
def generate(item):
    (HERE / f"worker-{os.getpid()}").touch()
    deadline = time.monotonic() + 20
    while len(list(HERE.glob("worker-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
SOURCES = [topics(generate, [str(n) for n in range(20)])]
""")

    result = ran("run", "--processes", "2", "--batch-size", "2", "--concurrency", "1")

    assert result.returncode == 0, result.stderr
    assert len(list(project.glob("worker-*"))) == 2
    assert {line.state: line.count for line in opened.count_by_state()} == {"success": 20}


BATCHES = """
def generate(items):
    with (HERE / "sizes").open("a") as file:
        file.write(f"{len(items)} ")
    return [detent.Done() for _ in items]
SOURCES = [topics(generate, [str(n) for n in range(6)], batch=True, batch_size=5, concurrency=1)]
"""


def test_flags_win_over_the_environment_over_a_stages_settings_over_the_handlers_own(
    handlers: Callable[[str], None],
    ran: Callable[..., Result],
    said: Callable[..., Result],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers(BATCHES)

    def sizes(*flags: str) -> str:
        (project / "sizes").unlink(missing_ok=True)
        assert said("reset", "--all", "--yes").returncode == 0
        assert ran("run", *flags).returncode == 0
        return (project / "sizes").read_text().strip()

    assert sizes() == "5 1"
    with (project / "detent.toml").open("a") as settings:
        settings.write("\n[stage.in_progress]\nbatch_size = 3\n")
    assert sizes() == "3 3"
    monkeypatch.setenv("DETENT_WORKER_BATCH_SIZE", "2")
    assert sizes() == "2 2 2"
    assert sizes("--batch-size", "4") == "4 2"


@pytest.mark.parametrize("command", ["run", "work"])
def test_there_is_a_flag_for_every_setting_that_a_worker_heeds(said: Callable[..., Result], command: str) -> None:
    shown = said(command, "--help").stdout
    heeded = [each for each in SETTINGS.values() if each.section in ("worker", "retry", "handlers")]

    assert [each.flag for each in heeded if f"{each.flag} " not in shown] == []


def test_how_retries_wait_can_be_said_by_flags(handlers: Callable[[str], None], ran: Callable[..., Result]) -> None:
    handlers("""
def generate(item):
    raise TimeoutError("too slow")
SOURCES = [topics(generate, ["a"])]
""")

    waiting = ran("run", "--no-wait", "--max-attempts", "2", "--retry-base-seconds", "3600")
    refused = ran("run", "--retry-base-seconds", "5", "--retry-ceiling-seconds", "4")

    assert (waiting.returncode, last_line(waiting)[:33]) == (3, "1 item waits for a later retry, t")
    assert refused.returncode == 2
    assert "retry.ceiling_seconds is 4 (flag --retry-ceiling-seconds), below retry.base_seconds" in refused.stderr


def test_a_wrong_flag_is_a_sentence(handlers: Callable[[str], None], said: Callable[..., Result]) -> None:
    handlers("SOURCES = [topics(lambda item: None, [])]")

    result = said("run", "--batch-size", "many")

    assert result.returncode == 2
    assert "flag --batch-size" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_paused_source_is_not_passed_over_in_silence(
    handlers: Callable[[str], None], ran: Callable[..., Result], said: Callable[..., Result], opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: None, ['a', 'b'])]")
    opened.declare("topics", "Topic", TOPIC)
    assert said("pause", "topics").returncode == 0

    result = ran("run")

    assert result.returncode == 3
    assert last_line(result) == "2 items of topics/Topic left; the source is paused: detent resume topics"
    assert said("resume", "topics").returncode == 0
    assert last_line(ran("run")) == "All 2 items are done."


def test_items_for_which_no_handler_is_declared_are_not_passed_over(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    """ANCESTORS 19: what no stage wanted stayed where it was, and the loop spun on it."""
    handlers("""
SOURCES = [
    detent.Source(
        "files", {"File": NODE}, [detent.Handler("parsing", lambda item: None)],
        lambda: [detent.NewItem("a.py", "File")],
    )
]
""")

    result = ran("run")

    assert result.returncode == 3
    assert last_line(result) == "1 item of files/File left, for which no handler is declared: 1 in parsed"


def test_no_items_is_nothing_to_do(handlers: Callable[[str], None], ran: Callable[..., Result]) -> None:
    handlers("SOURCES = [topics(lambda item: None, [])]")

    result = ran("run")

    assert (result.returncode, last_line(result)) == (0, "Nothing to do: the sources have no items.")


def test_without_sources_it_says_what_to_do(project: Path, said: Callable[..., Result]) -> None:
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))

    result = said("run")

    assert result.returncode == 2
    assert "No sources are configured." in result.stderr
    assert "[handlers]" in result.stderr


def test_a_module_that_cannot_be_imported_is_a_sentence(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    handlers("import nothing_of_this_name")

    result = ran("run")

    assert result.returncode == 2
    assert "'handlers'" in result.stderr
    assert "nothing_of_this_name" in result.stderr
    assert "Traceback" not in result.stderr


def test_modules_are_found_in_the_working_directory_without_a_project(
    tmp_path: Path, database: str, ran: Callable[..., Result]
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "my_sources.py").write_text(
        "import detent\nfrom detent.lifecycle import TOPIC\n"
        "SOURCES = [detent.Source('t', {'T': TOPIC}, [detent.Handler('in_progress', lambda item: None)],\n"
        "                         lambda: [detent.NewItem('a', 'T')])]\n"
    )
    (tmp_path / "detent.toml").unlink(missing_ok=True)

    result = ran("--database", database, "run", "--modules", "my_sources", cwd=folder)

    assert (result.returncode, last_line(result)) == (0, "The one item is done."), result.stderr


def test_discovery_is_shown_on_a_terminal_while_it_goes_on(
    handlers: Callable[[str], None], terminal: Callable[..., Any], project: Path
) -> None:
    handlers("""
def discover():
    for number in range(10_000):
        yield detent.NewItem(str(number), "Topic")
    while not (HERE / "seen").exists():
        time.sleep(0.01)
SOURCES = [detent.Source("topics", {"Topic": TOPIC}, [detent.Handler("in_progress", lambda item: None)], discover)]
""")

    screen = terminal("run")

    screen.wait_for("found 10,000 so far")
    (project / "seen").touch()
    screen.wait_for("Discovered 10,000 new items.")
    assert screen.end() == 0


def test_live_progress_on_a_terminal(handlers: Callable[[str], None], terminal: Callable[..., Any]) -> None:
    """ANCESTORS 45: progress hidden while ingesting."""
    handlers("""
def generate(item):
    print("hello from", item.key)
    time.sleep(0.02)
    return detent.Failed("no") if item.key == "7" else detent.Done()
SOURCES = [topics(generate, [str(n) for n in range(100)])]
""")

    screen = terminal("run", "--concurrency", "2")

    screen.wait_for("of 100")
    screen.wait_for("Ctrl-C stops")
    assert screen.end() == 1
    assert "99 of 100" in screen.shown
    assert "/s" in screen.shown
    assert "hello from 99" in screen.shown
    assert screen.shown.rstrip().endswith("1 of 100 items failed: detent items --state failed")


def test_items_of_sources_that_this_run_does_not_have_are_not_passed_over(
    handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: detent.Done(), ['a'])]")
    opened.declare("others", "Topic", TOPIC)
    opened.add("others", "Topic", ["b", "c"])

    result = ran("run")

    assert result.returncode == 3
    assert last_line(result) == (
        "The one item of this run's sources is done. "
        "2 items of others/Topic left, whose source is not in this run's modules"
    )


def test_items_of_other_sources_that_somebody_works_on_are_left_to_them(
    handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: detent.Done(), ['a'])]")
    opened.declare("others", "Topic", TOPIC)
    opened.add("others", "Topic", ["b", "c"])
    opened.claim(TOPIC, "pending", owner="somebody else", limit=1)

    result = ran("run")

    assert (result.returncode, last_line(result)) == (0, "The one item is done.")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("in_progres", "Did you mean [stage.in_progress]?"),
        ('"topic.in_progres"', 'Did you mean [stage."topic.in_progress"]?'),
        ("zzz", "There are: in_progress, topic.in_progress."),
    ],
)
@pytest.mark.parametrize("command", ["run", "work"])
def test_settings_of_a_stage_that_does_not_exist_are_refused_with_their_line(
    handlers: Callable[[str], None], ran: Callable[..., Result], project: Path, *, command: str, name: str, advice: str
) -> None:
    handlers("SOURCES = [topics(lambda item: None, ['a'])]")
    settings = (project / "detent.toml").read_text() + f"\n[stage.{name}]\nbatch_size = 3\n"
    (project / "detent.toml").write_text(settings)

    result = ran(command)

    assert (result.returncode, result.stdout) == (2, "")
    line = len(settings.splitlines())
    assert result.stderr == f"detent.toml line {line}: your sources have no stage {name.strip(chr(34))}. {advice}\n"


def test_settings_of_a_stage_whose_module_is_left_out_are_no_mistake(
    handlers: Callable[[str], None], ran: Callable[..., Result], project: Path
) -> None:
    handlers("SOURCES = [topics(lambda item: None, ['a'])]")
    (project / "one.py").write_text("from handlers import SOURCES\n")
    with (project / "detent.toml").open("a") as settings:
        settings.write("\n[stage.parsing]\nbatch_size = 3\n")

    assert ran("run", "--modules", "one").returncode == 0


def test_a_module_that_ends_the_program_is_a_sentence(
    handlers: Callable[[str], None], ran: Callable[..., Result]
) -> None:
    handlers("import sys\nsys.exit(3)")

    result = ran("run")

    assert (result.returncode, result.stdout) == (2, "")
    assert "handlers" in result.stderr
    assert "sys.exit(3)" in result.stderr or "SystemExit" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_run_says_in_whose_hands_is_what_it_waits_for(
    handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent
) -> None:
    handlers("SOURCES = [topics(lambda item: detent.Done(), ['one', 'two'])]")
    opened.declare("topics", "Topic", TOPIC)
    opened.add("topics", "Topic", ["one"])
    assert opened.claim(TOPIC, "pending", owner="elsewhere:4703", lease_seconds=5)

    result = ran("run")

    assert "Waiting for 1 item held by elsewhere:4703; the lease expires at " in result.stderr
    assert (result.returncode, last_line(result)) == (0, "All 2 items are done.")


def test_what_was_imported_is_embedded_without_any_module(
    project: Path, handlers: Callable[[str], None], ran: Callable[..., Result], make_database: Callable[[], str]
) -> None:
    handlers("""
from detent.lifecycle import ARTICLE, PASSAGE
def read(item):
    nodes = [detent.Node(f"Section {n}", f"Text of the section {n}.") for n in range(3)]
    sections = [detent.Child("Section", f"s{n}", node) for n, node in enumerate(nodes)]
    return detent.Done(detent.Node("All"), children=sections)
def discover():
    return [detent.NewItem("all", "Article")]
SOURCES = [detent.Source("book", {"Article": ARTICLE, "Section": PASSAGE}, [detent.Handler("claimed", read)], discover)]
""")
    assert ran("run").returncode == 0
    assert ran("graph", "export", "book.jsonl").returncode == 0
    handlers("SOURCES = []")
    other = ("--database", make_database())
    assert "declare no sources" in ran(*other, "run").stderr
    assert ran(*other, "graph", "import", "book.jsonl").returncode == 0

    result = ran(*other, "run")

    assert (result.returncode, last_line(result)) == (0, "All 3 items are done.")
    assert "Section 1" in ran(*other, "search", "--mode", "semantic", "text of section 1").stdout
    assert "declare no sources" in ran(*other, "run").stderr
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))
    again = ran(*other, "run")
    assert (again.returncode, last_line(again)) == (0, "All 4 items are done.")
    assert "No sources are configured." in ran(*other, "work").stderr


def test_without_modules_what_waits_for_them_is_a_mistake_even_where_all_is_embedded(
    project: Path, handlers: Callable[[str], None], ran: Callable[..., Result], opened: detent.Detent
) -> None:
    """Whoever forgot to name the modules is told so."""
    opened.declare("book", "Article", ARTICLE)
    opened.declare("book", "Section", PASSAGE)
    opened.add("book", "Article", ["one"])
    settings = (project / "detent.toml").read_text()
    (project / "detent.toml").write_text(settings.replace('modules = ["handlers"]', ""))

    result = ran("run")

    assert result.returncode == 2
    assert "No sources are configured." in result.stderr
