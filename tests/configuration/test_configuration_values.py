"""Values that are not right."""

from typing import Any

import pytest
from tests.configuration.reading import loaded, refusal

from detent.configuration import (
    SETTINGS,
    Project,
    load,
)
from detent.errors import (
    InvalidSetting,
)


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
