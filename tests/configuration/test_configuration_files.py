"""Files that cannot be read."""

import pytest
from tests.configuration.reading import refusal

from detent.configuration import (
    Project,
    load,
)
from detent.errors import (
    DetentError,
    InvalidConfiguration,
    InvalidSetting,
    UnknownSetting,
    UnreadableConfiguration,
)


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
