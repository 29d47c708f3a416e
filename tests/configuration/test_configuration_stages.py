"""Settings of stages."""

from collections.abc import Mapping
from typing import Any

from tests.configuration.reading import loaded

from detent.configuration import (
    SETTINGS,
    Configuration,
    Project,
    StageSettings,
)


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
