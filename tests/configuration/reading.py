"""Configurations as they are read, and what people are told of those that are refused."""

from collections.abc import Mapping

import pytest

from detent.configuration import (
    Configuration,
    Explained,
    Project,
    load,
)
from detent.errors import (
    InvalidConfiguration,
)


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
