"""Where values come from, which of them wins, and what people read when one is wrong."""

import dataclasses
import json
import pickle
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import pq

from detent.configuration import (
    SETTINGS,
    Configuration,
    Explained,
    Project,
    StageSettings,
    find_project,
    load,
    template,
)
from detent.configuration.lines import KeyPath, key_lines
from detent.configuration.masking import masked
from detent.errors import (
    DetentError,
    InvalidConfiguration,
    InvalidSetting,
    UnknownSetting,
    UnreadableConfiguration,
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".detent").mkdir()
    return Project(tmp_path)


def loaded(
    project: Project,
    toml: str = "",
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Configuration:
    project.file.write_text(toml, encoding="utf-8")
    return load(project, environment or {}, flags)


def refusal(project: Project, toml: str, kind: type[InvalidConfiguration]) -> str:
    """What the user reads about a file that is refused, after the file's name."""
    with pytest.raises(kind) as refused:
        loaded(project, toml)
    message = str(refused.value)
    assert message.startswith(str(project.file))
    return message.removeprefix(str(project.file)).strip()


def explained(configuration: Configuration, name: str) -> Explained:
    return next(each for each in configuration.explain() if each.name == name)


# Where values come from


def test_without_a_project_every_value_is_its_default() -> None:
    configuration = load(None, {})
    assert configuration == Configuration()
    assert configuration.database is None
    assert configuration.worker.processes is None
    assert configuration.worker.lease_seconds == 300.0
    assert configuration.worker.poll_seconds == 2.0
    assert configuration.worker.grace_seconds == 30.0
    assert configuration.worker.batch_size == 100
    assert configuration.worker.concurrency == 8
    assert configuration.worker.time_limit_seconds == 300.0
    assert configuration.worker.max_attempts == 3
    assert configuration.retry.base_seconds == 2.0
    assert configuration.retry.ceiling_seconds == 3600.0
    assert configuration.journal.retention_days is None
    assert configuration.handlers.modules == ()
    assert configuration.embedding.provider == "wordllama"
    assert configuration.embedding.model is None
    assert configuration.embedding.token_budget is None
    assert configuration.embedding.api_key_env == "OPENAI_API_KEY"
    assert configuration.embedding.min_characters == 12
    assert configuration.embedding.skip_labels == ()
    assert configuration.stages == {}
    assert {each.origin for each in configuration.explain()} == {"default"}


def test_a_project_without_a_file_has_the_defaults(project: Project) -> None:
    assert load(project, {}) == Configuration()


@dataclasses.dataclass(frozen=True)
class Given:
    """One setting given in all three places, as it is written there and as it is then in force."""

    name: str
    toml: str
    in_file: object
    text: str
    in_environment: object
    flag: object
    in_flag: object


@pytest.mark.parametrize(
    "case",
    [
        Given(
            "database",
            'database = "postgresql://file/db"',
            "postgresql://file/db",
            "postgres://environment/db",
            "postgres://environment/db",
            "host=flag",
            "host=flag",
        ),
        Given("worker.batch_size", "worker.batch_size = 10", 10, "20", 20, 30, 30),
        Given("worker.lease_seconds", "worker.lease_seconds = 10", 10.0, "20.5", 20.5, "30", 30.0),
        Given("embedding.dimensions", "embedding.dimensions = 64", 64, "128", 128, 256, 256),
        Given(
            "embedding.skip_labels",
            'embedding.skip_labels = ["Image"]',
            ["Image"],
            "Table, Web Page",
            ["Table", "Web Page"],
            ("Chart",),
            ["Chart"],
        ),
        Given("wiki.contact", 'wiki.contact = "a@b.example"', "a@b.example", " c@d.example ", "c@d.example", "e", "e"),
        Given("journal.retention_days", "journal.retention_days = 7", 7, "8", 8, "9", 9),
        Given(
            "handlers.modules",
            'handlers.modules = ["a", "b.c"]',
            ["a", "b.c"],
            " d, e.f ,",
            ["d", "e.f"],
            ("g", "h"),
            ["g", "h"],
        ),
    ],
    ids=lambda case: case.name,
)
def test_flags_win_over_the_environment_over_the_file_over_the_default(project: Project, case: Given) -> None:
    def in_force(environment: Mapping[str, str], flags: Mapping[str, object]) -> tuple[object, str]:
        found = explained(loaded(project, "# a comment\n" + case.toml, environment, flags), case.name)
        return found.value, found.origin

    variable, flag = SETTINGS[case.name].environment, SETTINGS[case.name].flag
    assert in_force({}, {}) == (case.in_file, "detent.toml line 2")
    assert in_force({variable: case.text}, {}) == (case.in_environment, f"environment {variable}")
    assert in_force({variable: case.text}, {case.name: case.flag}) == (case.in_flag, f"flag {flag}")
    assert in_force({}, {case.name: case.flag}) == (case.in_flag, f"flag {flag}")


def test_the_flags_are_the_keys_with_dashes() -> None:
    assert SETTINGS["worker.lease_seconds"].flag == "--lease-seconds"
    assert SETTINGS["retry.base_seconds"].flag == "--retry-base-seconds", "which says what it is the base of"
    assert SETTINGS["retry.ceiling_seconds"].flag == "--retry-ceiling-seconds"
    assert len({each.flag for each in SETTINGS.values()}) == len(SETTINGS)


def test_the_names_in_the_environment_are_section_and_key() -> None:
    variables = {each.name: each.environment for each in SETTINGS.values()}
    assert variables["database"] == "DETENT_DATABASE_URL"
    assert variables["worker.lease_seconds"] == "DETENT_WORKER_LEASE_SECONDS"
    assert variables["handlers.modules"] == "DETENT_HANDLERS_MODULES"
    assert len(set(variables.values())) == len(SETTINGS)


def test_an_empty_variable_counts_as_not_set(project: Project) -> None:
    environment = {"DETENT_DATABASE_URL": "", "DETENT_WORKER_PROCESSES": " "}
    configuration = loaded(project, "worker.processes = 4", environment)
    assert configuration.database is None
    assert configuration.worker.processes == 4


def test_flags_that_were_not_used_change_nothing(project: Project) -> None:
    flags: dict[str, object] = {"worker.processes": None, "handlers.modules": ()}
    configuration = loaded(project, 'worker.processes = 4\nhandlers.modules = ["a"]', flags=flags)
    assert configuration.worker.processes == 4
    assert configuration.handlers.modules == ("a",)


def test_whole_numbers_serve_where_numbers_are_expected(project: Project) -> None:
    configuration = loaded(project, "worker.grace_seconds = 0", {"DETENT_WORKER_POLL_SECONDS": "1"})
    assert configuration.worker.grace_seconds == 0.0
    assert isinstance(configuration.worker.grace_seconds, float)
    assert isinstance(configuration.worker.poll_seconds, float)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(project: Project) -> None:
    project.file.write_bytes(b"\xef\xbb\xbf[worker]\r\n# two\r\nprocesses = 2\r\n")
    configuration = load(project, {})
    assert explained(configuration, "worker.processes").origin == "detent.toml line 3"


# Stages


def test_a_stage_overrides_only_what_it_names(project: Project) -> None:
    toml = """
        [stage.parsing]
        batch_size = 5

        [stage."node.parsing"]
        concurrency = 2
        time_limit_seconds = 60
        max_attempts = 1
    """
    configuration = loaded(project, toml)
    assert configuration.stages == {
        "parsing": StageSettings(batch_size=5),
        "node.parsing": StageSettings(concurrency=2, time_limit_seconds=60.0, max_attempts=1),
    }
    assert configuration.worker == Configuration().worker


def test_overrides_of_stages_are_explained_with_their_lines(project: Project) -> None:
    configuration = loaded(project, '[stage."node.parsing"]\nbatch_size = 5\n[stage.x]\nconcurrency = 1')
    overrides = [each for each in configuration.explain() if each.name.startswith("stage")]
    assert [(each.name, each.value, each.unit, each.origin) for each in overrides] == [
        ('stage."node.parsing".batch_size', 5, "items", "detent.toml line 2"),
        ("stage.x.concurrency", 1, "calls", "detent.toml line 4"),
    ]


def test_each_place_where_a_stages_limit_is_given_wins_over_the_one_before(project: Project) -> None:
    """Default, [worker], the handler's own, [stage], environment, flag."""
    parsing = ("node.parsing", "parsing")
    variable, name = "DETENT_WORKER_BATCH_SIZE", "worker.batch_size"

    def size(toml: str, declared: int | None = None, *outside: Mapping[str, Any]) -> int:
        declaration = StageSettings(batch_size=declared)
        return loaded(project, toml, *outside).stage(*parsing, declared=declaration).batch_size

    worker, stage = "worker.batch_size = 1\n", "worker.batch_size = 1\nstage.parsing.batch_size = 3"
    assert size("") == 100
    assert size(worker) == 1
    assert size(worker, 2) == 2
    assert size(stage, 2) == 3
    assert size(stage + '\nstage."node.parsing".batch_size = 4', 2) == 4
    assert size(stage, 2, {variable: "5"}) == 5
    assert size(stage, 2, {variable: "5"}, {name: "6"}) == 6
    assert size(stage, 2, {}, {name: 100}) == 100, "a flag wins even where it says the default"


def test_what_is_given_for_one_limit_leaves_the_others_to_the_stage(project: Project) -> None:
    toml = "stage.parsing = {batch_size = 3, concurrency = 4}"
    declared = StageSettings(time_limit_seconds=5.0, max_attempts=6)
    limits = loaded(project, toml, {"DETENT_WORKER_BATCH_SIZE": "2"}).stage("parsing", declared=declared)
    assert (limits.batch_size, limits.concurrency, limits.time_limit_seconds, limits.max_attempts) == (2, 4, 5.0, 6)
    assert limits.lease_seconds == Configuration().worker.lease_seconds


def test_a_stages_value_is_explained_by_what_has_taken_its_place(project: Project) -> None:
    toml = "[stage.parsing]\nbatch_size = 3\nconcurrency = 4"
    configuration = loaded(project, toml, {"DETENT_WORKER_BATCH_SIZE": "5"})
    overrides = [each for each in configuration.explain() if each.name.startswith("stage")]
    assert [(each.name, each.value, each.origin) for each in overrides] == [
        ("stage.parsing.batch_size", 5, "environment DETENT_WORKER_BATCH_SIZE, over detent.toml line 2"),
        ("stage.parsing.concurrency", 4, "detent.toml line 3"),
    ]


def test_concurrency_counts_calls() -> None:
    """A handler that takes batches is given many items in one call."""
    concurrency = SETTINGS["worker.concurrency"]
    assert concurrency.unit == "calls"
    assert "calls" in concurrency.description
    assert "items" not in concurrency.description


# Names that are not settings


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[worker]\nlease_second = 9",
            "line 2: there is no setting worker.lease_second. Did you mean lease_seconds?",
        ),
        (
            "\nlease_seconds = 9",
            "line 2: there is no setting lease_seconds. Did you mean lease_seconds in [worker]?",
        ),
        (
            "batch_size = 9",
            "line 1: there is no setting batch_size. Did you mean batch_size in [worker]?",
        ),
        (
            "[worker]\nbase_seconds = 9",
            "line 2: there is no setting worker.base_seconds. Did you mean base_seconds in [retry]?",
        ),
        (
            '[worker]\nprocesses = 2\ndatabase = "host=x"',
            "line 3: there is no setting worker.database. Did you mean database? It goes above the first [section].",
        ),
        ('databse = "host=x"', "line 1: there is no setting databse. Did you mean database?"),
        ("colour = 1", "line 1: there is no setting colour. The top of the file may hold database."),
        (
            "[retry]\ncolour = 1",
            "line 2: there is no setting retry.colour. [retry] may hold base_seconds, ceiling_seconds.",
        ),
        ("[wroker]\nprocesses = 1", "line 1: there is no section [wroker]. Did you mean [worker]?"),
        (
            "[zoo]",
            "line 1: there is no section [zoo]. "
            "The file may hold [worker], [retry], [journal], [handlers], [embedding], [wiki], [stage].",
        ),
        (
            "worker = 3",
            "line 1: worker is a section. Write [worker] on a line of its own, and its settings below it.",
        ),
        (
            "[[worker]]\nprocesses = 1",
            "line 1: worker is a section. Write [worker] on a line of its own, and its settings below it.",
        ),
        (
            "stage = 3",
            "line 1: stage is a section. Write [stage.NAME] on a line of its own, and its settings below it.",
        ),
        (
            "[stage]\nparsing = 3",
            "line 2: stage.parsing is a section. "
            "Write [stage.parsing] on a line of its own, and its settings below it.",
        ),
        (
            "[stage.parsing]\n\nbatchsize = 3",
            "line 3: there is no setting stage.parsing.batchsize. Did you mean batch_size?",
        ),
        (
            "[stage.parsing]\nlease_seconds = 30",
            "line 2: there is no setting stage.parsing.lease_seconds. "
            "A stage may hold batch_size, concurrency, time_limit_seconds, max_attempts.",
        ),
        (
            "[stage.node.parsing]\nbatch_size = 3",
            "line 1: there is no setting stage.node.parsing. "
            'A stage whose name has a dot needs quotes: [stage."node.parsing"].',
        ),
        (
            '"worker.processes" = 2',
            'line 1: there is no setting "worker.processes". Did you mean processes in [worker]?',
        ),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_known(
    project: Project, toml: str, message: str
) -> None:
    assert refusal(project, toml, UnknownSetting) == message


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("DETENT_WORKER_LEASE_SECOND", "Did you mean DETENT_WORKER_LEASE_SECONDS?"),
        ("DETENT_LEASE_SECONDS", "Did you mean DETENT_WORKER_LEASE_SECONDS?"),
        ("DETENT_BATCH_SIZE", "Did you mean DETENT_WORKER_BATCH_SIZE?"),
        ("DETENT_EMBEDDING_DIMENSION", "Did you mean DETENT_EMBEDDING_DIMENSIONS?"),
        ("DETENT_MODULES", "Did you mean DETENT_HANDLERS_MODULES?"),
        ("DETENT_DATABASE", "Did you mean DETENT_DATABASE_URL?"),
        ("DETENT_ZZZ", "Unset it; names that begin with DETENT_ are reserved for settings."),
        (
            "DETENT_STAGE_PARSING_BATCH_SIZE",
            "Override a stage in detent.toml, under [stage.NAME].",
        ),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_known(variable: str, advice: str) -> None:
    with pytest.raises(UnknownSetting) as refused:
        load(None, {variable: "1"})
    assert str(refused.value) == f"environment {variable}: there is no such setting. {advice}"


def test_variables_that_are_not_settings_are_left_alone() -> None:
    environment = {
        "DETENT_SAMPLES": "/samples",
        "DETENT_TEST_DATABASE": "x",
        "_DETENT_COMPLETE": "bash_source",
        "DETENTION": "x",
        "PATH": "/bin",
    }
    assert load(None, environment) == Configuration()


def test_an_unknown_flag_is_refused_with_the_nearest_known() -> None:
    with pytest.raises(UnknownSetting) as refused:
        load(None, {}, {"worker.lease": 1})
    assert str(refused.value) == ("flag for worker.lease: there is no such setting. Did you mean worker.lease_seconds?")


# Values that are not right


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[worker]\nprocesses = 0",
            "line 2: worker.processes is 0. It must be a whole number of processes, at least 1.",
        ),
        (
            '[worker]\nprocesses = "two"',
            'line 2: worker.processes is "two". It must be a whole number of processes, at least 1.',
        ),
        (
            "worker.processes = true",
            "line 1: worker.processes is true. It must be a whole number of processes, at least 1.",
        ),
        (
            "worker.processes = 2.0",
            "line 1: worker.processes is 2.0. It must be a whole number of processes, at least 1.",
        ),
        (
            "[worker.processes]",
            "line 1: worker.processes is a table. It must be a whole number of processes, at least 1.",
        ),
        (
            "worker.lease_seconds = 4.9",
            "line 1: worker.lease_seconds is 4.9. It must be a number of seconds from 5 to 86400.",
        ),
        (
            "worker.lease_seconds = 86401",
            "line 1: worker.lease_seconds is 86401. It must be a number of seconds from 5 to 86400.",
        ),
        (
            "worker.lease_seconds = 2026-01-01",
            'line 1: worker.lease_seconds is "2026-01-01". It must be a number of seconds from 5 to 86400.',
        ),
        (
            "worker.lease_seconds = false",
            "line 1: worker.lease_seconds is false. It must be a number of seconds from 5 to 86400.",
        ),
        (
            "embedding.dimensions = 0",
            "line 1: embedding.dimensions is 0. It must be a whole number of dimensions from 1 to 4000.",
        ),
        (
            "embedding.token_budget = 0",
            "line 1: embedding.token_budget is 0. It must be a whole number of tokens, at least 1.",
        ),
        (
            'embedding.device = "gpu"',
            'line 1: embedding.device is "gpu". It must be one of auto, cpu, mps, cuda, or cuda:1 and so on.',
        ),
        (
            "embedding.provider = 3",
            "line 1: embedding.provider is 3. It must be a name: wordllama, sentence-transformers, openai or your own.",
        ),
        (
            'embedding.skip_labels = [""]',
            'line 1: embedding.skip_labels is [""]. It must be a list of labels, such as ["Image", "Table"].',
        ),
        (
            "worker.time_limit_seconds = 0",
            "line 1: worker.time_limit_seconds is 0. It must be a number of seconds above 0.",
        ),
        (
            "worker.grace_seconds = nan",
            "line 1: worker.grace_seconds is NaN. It must be a number of seconds, at least 0.",
        ),
        (
            "worker.grace_seconds = inf",
            "line 1: worker.grace_seconds is Infinity. It must be a number of seconds, at least 0.",
        ),
        (
            "worker.grace_seconds = -1",
            "line 1: worker.grace_seconds is -1. It must be a number of seconds, at least 0.",
        ),
        (
            "worker.batch_size = 10_001",
            "line 1: worker.batch_size is 10001. It must be a whole number of items from 1 to 10000.",
        ),
        (
            "journal.retention_days = 0",
            "line 1: journal.retention_days is 0. It must be a whole number of days from 1 to 36500.",
        ),
        (
            '[stage."node.parsing"]\nmax_attempts = 101',
            'line 2: stage."node.parsing".max_attempts is 101. It must be a whole number of attempts from 1 to 100.',
        ),
        (
            '[handlers]\nmodules = "my_project"',
            'line 2: handlers.modules is "my_project". '
            'It must be a list of Python module names, such as ["my_project.handlers"].',
        ),
        (
            'handlers.modules = ["a", 1]',
            'line 1: handlers.modules is ["a", 1]. '
            'It must be a list of Python module names, such as ["my_project.handlers"].',
        ),
        (
            'handlers.modules = ["my/handlers.py"]',
            'line 1: handlers.modules is ["my/handlers.py"]. '
            'It must be a list of Python module names, such as ["my_project.handlers"].',
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_line_and_what_is_expected(project: Project, toml: str, message: str) -> None:
    assert refusal(project, toml, InvalidSetting) == message


def test_a_number_of_hundreds_of_digits_is_refused_and_shown_cut(project: Project) -> None:
    message = refusal(project, "worker.grace_seconds = 1" + "0" * 400, InvalidSetting)
    assert message == (
        "line 1: worker.grace_seconds is 1" + "0" * 57 + " …. It must be a number of seconds, at least 0."
    )


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("DETENT_WORKER_PROCESSES", "two", 'worker.processes is "two".'),
        ("DETENT_WORKER_PROCESSES", "1.5", 'worker.processes is "1.5".'),
        ("DETENT_WORKER_LEASE_SECONDS", "1", "worker.lease_seconds is 1.0."),
        ("DETENT_WORKER_LEASE_SECONDS", "nan", "worker.lease_seconds is NaN."),
        ("DETENT_HANDLERS_MODULES", "a,b c", 'handlers.modules is ["a", "b c"].'),
    ],
)
def test_a_wrong_value_in_the_environment_is_refused_with_its_variable(variable: str, text: str, message: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(None, {variable: text})
    assert str(refused.value).startswith(f"environment {variable}: {message} It must be ")


@pytest.mark.parametrize(("value", "shown"), [(2, "2"), ("2", "2.0"), ("soon", '"soon"'), ([1], "[1]")])
def test_a_wrong_value_of_a_flag_is_refused_with_the_flag(value: object, shown: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(None, {}, {"worker.lease_seconds": value})
    assert str(refused.value) == (
        f"flag --lease-seconds: worker.lease_seconds is {shown}. It must be a number of seconds from 5 to 86400."
    )


def test_a_wrong_value_is_refused_even_where_a_flag_would_win(project: Project) -> None:
    with pytest.raises(InvalidSetting):
        loaded(project, "worker.processes = 0", flags={"worker.processes": 2})


@pytest.mark.parametrize("setting", [each for each in SETTINGS.values() if each.type in (int, float)])
def test_the_ends_of_every_range_are_allowed_and_what_lies_beyond_is_not(setting: Any) -> None:
    def accepts(value: float) -> bool:
        flags = {setting.name: value}
        if setting.name == "retry.ceiling_seconds":
            flags["retry.base_seconds"] = 0
        if setting.name == "retry.base_seconds":
            flags["retry.ceiling_seconds"] = 1e9
        try:
            load(None, {}, flags)
        except InvalidSetting:
            return False
        return True

    if setting.above is not None:
        assert not accepts(setting.above)
        assert accepts(setting.type(setting.above + 1))
    if setting.at_least is not None:
        assert accepts(setting.at_least)
        assert not accepts(setting.at_least - 1)
    if setting.at_most is not None:
        assert accepts(setting.at_most)
        assert not accepts(setting.at_most + 1)


def test_a_retry_ceiling_below_the_base_is_refused_with_both_places(project: Project) -> None:
    with pytest.raises(InvalidSetting) as refused:
        loaded(project, "[retry]\nceiling_seconds = 1")
    assert str(refused.value) == (
        "retry.ceiling_seconds is 1 (detent.toml line 2), below retry.base_seconds, which is 2 (default). "
        "Raise the ceiling or lower the base."
    )


# Files that cannot be read


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ("[worker\nprocesses = 1", 1),
        ("[worker]\nprocesses =", 2),
        ("[worker]\n\nprocesses = 1\nprocesses = 2", 4),
        ("[worker]\nprocesses = 1\n[worker]", 3),
        ('database = """never closed\n\n', 2),
        ("handlers.modules = [\n", 1),
    ],
)
def test_broken_toml_is_reported_with_its_line(project: Project, toml: str, line: int) -> None:
    message = refusal(project, toml, UnreadableConfiguration)
    assert message.startswith(f"line {line}: this is not valid TOML (")
    assert message.endswith("). Correct it, or comment it out with #.")
    assert "(at " not in message


@pytest.mark.parametrize("toml", ["x = " + "[" * 5_000 + "]" * 5_000, "x = " + "9" * 5_000])
def test_toml_beyond_what_python_reads_is_reported_as_well(project: Project, toml: str) -> None:
    assert "this is not valid TOML (" in refusal(project, toml, UnreadableConfiguration)


def test_a_file_in_another_encoding_is_reported_with_its_line(project: Project) -> None:
    project.file.write_bytes(b"[worker]\n# caf\xe9\n")
    with pytest.raises(UnreadableConfiguration) as refused:
        load(project, {})
    assert str(refused.value) == f"{project.file} line 2: this is not UTF-8. Save the file in that encoding."


def test_a_folder_in_place_of_the_file_is_reported(project: Project) -> None:
    project.file.mkdir()
    with pytest.raises(UnreadableConfiguration) as refused:
        load(project, {})
    assert str(refused.value) == (
        f"{project.file} cannot be read: Is a directory. Let this user read it, or move it away."
    )


def test_all_refusals_are_errors_that_detent_explains() -> None:
    for kind in (UnreadableConfiguration, InvalidSetting, UnknownSetting):
        assert issubclass(kind, InvalidConfiguration)
    assert issubclass(InvalidConfiguration, DetentError)


# Lines of keys


def test_lines_are_found_through_tables_dots_quotes_and_long_values() -> None:
    text = "\n".join(
        [
            "# key = 1",  # 1
            "plain = 1",
            'a.b . "c.d" = 2 # x = 3',
            "text = '''",
            "inner = 5",  # 5
            "[inner]",
            "''''",
            'other = """',
            '\\""" still = 1',
            'end"""""',  # 10
            "list = [ # [no]",
            '  \'a]\', "b\\"]", [1,',
            "  2], { deep = 1, x.y = [{ z = 1 }] },",
            "]",
            "after = 1979-05-27 07:32:00",  # 15
            " [ table . 'qu\"oted' ] ",
            "inline = { one = 1, two = { three = '}' } }",
            "[[many]]",
            '"esc\\u0061ped\\"" = 1.5',
            "[[many]]",  # 20
            "later = -inf",
            "[table]",
            "last = 0x1F",
        ]
    )
    tomllib.loads(text)
    assert key_lines(text) == {
        ("plain",): 2,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "c.d"): 3,
        ("text",): 4,
        ("other",): 8,
        ("list",): 11,
        ("list", "deep"): 13,
        ("list", "x"): 13,
        ("list", "x", "y"): 13,
        ("list", "x", "y", "z"): 13,
        ("after",): 15,
        ("table",): 16,
        ("table", 'qu"oted'): 16,
        ("table", 'qu"oted', "inline"): 17,
        ("table", 'qu"oted', "inline", "one"): 17,
        ("table", 'qu"oted', "inline", "two"): 17,
        ("table", 'qu"oted', "inline", "two", "three"): 17,
        ("many",): 18,
        ("many", 'escaped"'): 19,
        ("many", "later"): 21,
        ("table", "last"): 23,
    }


TRICKY = st.text(alphabet="ab.=[]{}#,\"'\\\n é1", max_size=8)
SCALARS = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), TRICKY)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TRICKY, inner, max_size=3)),
    max_leaves=8,
)


def written(value: object) -> str:
    """The value in TOML, with arrays spread over lines and texts in whatever quotes may hold them."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(key)} = {written(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[ # [ = {\n" + "".join(f"  {written(each)}, # ' ]\n" for each in value) + "]"
    if isinstance(value, str):
        return quoted(value) if "'''" in value or value[-1:] == "'" else f"'''\n{value}'''"
    return json.dumps(value).replace("Infinity", "inf")


def quoted(text: str) -> str:
    return f"'{text}'" if not set("'\n") & set(text) else json.dumps(text)


def paths(value: object, above: KeyPath = ()) -> set[KeyPath]:
    """Every key in the document, whichever way it was written."""
    if isinstance(value, list):
        return {path for each in value for path in paths(each, above)}
    if isinstance(value, dict):
        here = {(*above, key) for key in value}
        return here.union(*(paths(each, (*above, key)) for key, each in value.items()))
    return set()


@given(st.dictionaries(TRICKY, st.dictionaries(TRICKY, VALUES, max_size=3), max_size=3))
def test_every_key_that_tomllib_reads_has_the_line_that_it_stands_on(document: dict[str, Any]) -> None:
    lines: list[str] = []
    expected: dict[KeyPath, int] = {}
    for table, pairs in document.items():
        lines.append(f"[{quoted(table)}]")
        expected[(table,)] = len(lines)
        for key, value in pairs.items():
            expected[(table, key)] = len(lines) + 1
            lines += f"{quoted(key)} = {written(value)}".split("\n")
    text = "\n".join(lines)
    found = key_lines(text)
    assert set(found) == paths(tomllib.loads(text))
    assert {path: found[path] for path in expected} == expected


# Secrets


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        ("postgresql://me:hunter2@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgres://me:hun@ter/2@db/x", "postgres://me:***@db/x"),
        ("postgresql://me@db/x", "postgresql://me@db/x"),
        ("postgresql://db1:5432,db2:5433/x", "postgresql://db1:5432,db2:5433/x"),
        ("postgresql://[::1]:5432/x", "postgresql://[::1]:5432/x"),
        ("postgresql://db/x?user=me&password=hunter2&port=1", "postgresql://db/x?user=me&password=***&port=1"),
        ("postgresql:///x?host=/run&sslpassword=hunter2", "postgresql:///x?host=/run&sslpassword=***"),
        ("host=db password=hunter2 user=me", "host=db password=*** user=me"),
        ("host=db password = 'hun\\' ter2' user=me", "host=db password = *** user=me"),
        ("host=db password=hun\\ ter2 user=me", "host=db password=*** user=me"),
        ("password='never closed hunter2", "password=***"),
        ("host=db PASSWORD=hunter2", "host=db PASSWORD=***"),
        ("host=db passfile=/home/me/.pgpass", "host=db passfile=/home/me/.pgpass"),
        ("host= db  options='-c work_mem=5MB'", "host= db  options='-c work_mem=5MB'"),
    ],
)
def test_passwords_are_masked_wherever_libpq_takes_them(connection: str, shown: str) -> None:
    assert masked(connection) == shown


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        ("host=db pasword=hunter2", "host=db ***"),
        ("host=db sslpasswd=hunter2", "host=db ***"),
        ("host=db password=hun ter2 user=me", "host=db password=*** *** user=me"),
        ("host=db password=hun ter2=x user=me", "host=db password=*** *** user=me"),
        ("password='hun'ter2 user=me", "password=****** user=me"),
        ("me:hunter2@db/x", "***"),
        ("postgres//me:hunter2@db/x", "***"),
        ("postgresql:/me:hunter2@db/x?sslmode=require", "***"),
        ("postgresql://me:hunter2/db/x", "postgresql://me:***"),
        ("postgresql://db1:5432,me:hunter2/x", "postgresql://db1:5432,me:***"),
        ("postgresql://db/x?pasword=hunter2&sslmode=require", "postgresql://db/x?pasword=***&sslmode=require"),
        ("postgresql://db/x?hunter2", "postgresql://db/x?***"),
    ],
)
def test_in_a_string_that_was_written_wrongly_what_may_be_a_password_is_masked(connection: str, shown: str) -> None:
    assert masked(connection) == shown


def test_all_that_libpq_knows_to_be_harmless_is_shown() -> None:
    for option in pq.Conninfo.get_defaults():
        name, secret = option.keyword.decode(), option.dispchar == b"*" or b"_key" in option.keyword
        assert masked(f"{name}=value") == (f"{name}=***" if secret else f"{name}=value")
        assert masked(f"postgresql://db?{name}=value") == f"postgresql://db?{name}={'***' if secret else 'value'}"


def test_the_password_is_shown_neither_by_explain_nor_by_repr(project: Project) -> None:
    configuration = loaded(project, 'database = "postgresql://me:hunter2@db/x"')
    assert configuration.database == "postgresql://me:hunter2@db/x"
    assert explained(configuration, "database").value == "postgresql://me:***@db/x"
    assert "hunter2" not in repr(configuration)


@pytest.mark.parametrize("value", ["mysql://me:hunter2@db/x", "hunter2", "postgresql:me:hunter2@db"])
def test_an_error_about_the_database_does_not_show_its_value(value: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(None, {"DETENT_DATABASE_URL": value})
    assert str(refused.value) == (
        "environment DETENT_DATABASE_URL: database has a value that cannot be used. "
        "It must be a postgresql:// URL or a connection string such as host=db dbname=detent."
    )


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('api_key_env = "sk-hunter2"', "a variable's name in capitals, not the key itself."),
        (
            'base_url = "https://me:hunter2@api.example/v1"',
            "an http:// or https:// address without a password or query.",
        ),
        (
            'base_url = "https://api.example/v1?key=hunter2"',
            "an http:// or https:// address without a password or query.",
        ),
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(project: Project, toml: str, expected: str) -> None:
    name = toml.partition(" ")[0]
    message = refusal(project, f"[embedding]\n{toml}", InvalidSetting)
    assert message == f"line 2: embedding.{name} has a value that cannot be used. It must be {expected}"


def test_the_name_of_the_keys_variable_is_no_secret(project: Project) -> None:
    configuration = loaded(project, '[embedding]\napi_key_env = "MY_KEY"\nbase_url = "http://localhost:8000/v1"')
    assert explained(configuration, "embedding.api_key_env").value == "MY_KEY"
    assert explained(configuration, "embedding.base_url").value == "http://localhost:8000/v1"


# What is handed on


def test_every_setting_is_explained_with_what_it_is_for() -> None:
    everything = load(None, {}).explain()
    assert [each.name for each in everything] == list(SETTINGS)
    assert all(each.description.endswith(".") for each in everything)
    assert explained(load(None, {}), "worker.lease_seconds").unit == "seconds"


def test_explanations_become_json_and_back(project: Project) -> None:
    configuration = loaded(project, 'handlers.modules = ["a"]\nstage.x.batch_size = 1')
    everything = [dataclasses.asdict(each) for each in configuration.explain()]
    assert json.loads(json.dumps(everything)) == everything


def test_a_configuration_cannot_be_changed_and_travels_between_processes(project: Project) -> None:
    configuration = loaded(project, "worker.processes = 2\nstage.x.batch_size = 1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        configuration.worker.processes = 3  # type: ignore[misc]
    sent = pickle.loads(pickle.dumps(configuration))  # noqa: S301 - our own bytes
    assert sent == configuration
    assert sent.explain() == configuration.explain()


# The project


def test_the_nearest_folder_upward_is_the_project(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    below = inner / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "outer" / ".detent").mkdir()
    assert find_project(below) == Project(tmp_path / "outer")
    (inner / "detent.toml").touch()
    found = find_project(below)
    assert found == Project(inner)
    assert found.folder == inner / ".detent"
    assert found.file == inner / "detent.toml"
    assert find_project(inner) == found


def test_the_search_begins_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert find_project() == project
    assert find_project(Path("..") / "below") == project


def test_a_file_named_like_the_folder_makes_no_project(tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "detent.toml").mkdir(parents=True)
    (here / ".detent").touch()
    assert find_project(here) is None


def test_no_project_is_found_where_there_is_none(tmp_path: Path) -> None:
    assert find_project(tmp_path) is None
    assert find_project(tmp_path / "not" / "there") is None


def test_the_search_ends_quietly_at_a_folder_that_may_not_be_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = project.root / "closed"
    (closed / "below").mkdir(parents=True)
    is_dir = Path.is_dir

    def refuse(path: Path) -> bool:  # root, who runs some of our tests, may read everything
        if path.parent == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert find_project(closed / "below") is None


def test_a_working_directory_that_is_gone_has_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_project() is None


def test_a_loop_of_links_has_no_project(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert find_project(tmp_path / "loop") is None


# The template


def uncommented(text: str) -> str:
    return "\n".join(line[1:] if line[:1] == "#" and line[1:2] != " " else line for line in text.split("\n"))


def test_the_template_changes_nothing_as_it_is(project: Project) -> None:
    configuration = loaded(project, template())
    assert configuration == Configuration()
    assert configuration.origins == {}


def test_the_template_with_every_line_uncommented_gives_the_defaults(project: Project) -> None:
    configuration = loaded(project, uncommented(template()))
    assert configuration == Configuration()
    assert set(configuration.origins) == {name for name, each in SETTINGS.items() if each.default is not None}


def test_the_examples_in_the_template_can_be_used(project: Project) -> None:
    text = template().replace("# Unset by default; for example: ", "").replace("#   ", "")
    configuration = loaded(project, text)
    assert configuration.database == "postgresql://detent@db.example/detent"
    assert configuration.journal.retention_days == 365
    assert configuration.stages == {"node.parsing": StageSettings(batch_size=20)}


def test_the_template_tells_of_every_setting_within_the_width_of_a_page() -> None:
    text = template()
    for setting in SETTINGS.values():
        assert setting.description in text
        assert setting.environment in text
    assert max(len(line) for line in text.splitlines()) <= 110
