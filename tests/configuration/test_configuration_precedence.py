"""Where values come from, which of them wins, and what is handed on."""

import dataclasses
import json
import pickle
from collections.abc import Mapping

import pytest
from tests.configuration.reading import explained, loaded

from detent.configuration import (
    SETTINGS,
    Configuration,
    Project,
    load,
)


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
