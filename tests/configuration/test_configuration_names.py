"""Names that are not settings."""

import pytest
from tests.configuration.reading import refusal

from detent.configuration import (
    Configuration,
    Project,
    load,
)
from detent.errors import (
    UnknownSetting,
)


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
