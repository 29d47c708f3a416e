"""Combines the three places where a value may be given, each over the one before."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from detent.configuration.embedding import EmbeddingSettings
from detent.configuration.environment import from_environment
from detent.configuration.file import from_file
from detent.configuration.flags import from_flags
from detent.configuration.lines import KeyPath
from detent.configuration.project import Project
from detent.configuration.settings import (
    DEFAULT,
    STAGE,
    Configuration,
    HandlerSettings,
    JournalSettings,
    RetrySettings,
    StageSettings,
    WikiDefaults,
    WorkerSettings,
    dotted,
)
from detent.configuration.values import Given, nearest
from detent.errors import InvalidSetting, UnknownSetting


def load(
    project: Project | None,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> Configuration:
    """Return the values in force: flags over the environment over `detent.toml` over the defaults.

    Flags come by full name, `{"worker.lease_seconds": "60"}`, typed or as text. Raises InvalidConfiguration.
    """
    in_file = from_file(project.file) if project else {}
    insisted = {**from_environment(environment), **from_flags(flags or {})}
    given = {**in_file, **insisted}
    configuration = Configuration(
        **_values(given, ()),
        worker=WorkerSettings(**_values(given, ("worker",))),
        retry=RetrySettings(**_values(given, ("retry",))),
        journal=JournalSettings(**_values(given, ("journal",))),
        handlers=HandlerSettings(**_values(given, ("handlers",))),
        embedding=EmbeddingSettings(**_values(given, ("embedding",))),
        wiki=WikiDefaults(**_values(given, ("wiki",))),
        stages={path[1]: StageSettings(**_values(given, path[:2])) for path in given if path[0] == STAGE},
        origins={dotted(path): each.origin for path, each in given.items()},
        insisted=frozenset(dotted(path) for path in insisted),
    )
    _check_retry(configuration)
    return configuration


def require_stages(configuration: Configuration, known: Iterable[str]) -> None:
    """Refuse a section [stage.NAME] that no source has a stage for: it is a mistake, like any misspelt setting."""
    names = {name: name for name in sorted(known)}
    for stage in configuration.stages:
        if stage not in names:
            meant = nearest(stage, names)
            advice = f"Did you mean [{dotted((STAGE, meant))}]?" if meant else f"There are: {', '.join(names)}."
            raise UnknownSetting(f"{_origin(configuration, stage)}: your sources have no stage {stage}. {advice}")


def _values(given: Mapping[KeyPath, Given], section: KeyPath) -> dict[str, Any]:
    return {path[-1]: each.value for path, each in given.items() if path[:-1] == section}


def _origin(configuration: Configuration, stage: str) -> str:
    """Return the place of the first setting of a stage."""
    section = dotted((STAGE, stage)) + "."
    return next(origin for name, origin in configuration.origins.items() if name.startswith(section))


def _check_retry(configuration: Configuration) -> None:
    """Check the one rule that spans two settings, which may come from two places."""
    retry = configuration.retry
    if retry.ceiling_seconds < retry.base_seconds:
        ceiling = configuration.origins.get("retry.ceiling_seconds", DEFAULT)
        base = configuration.origins.get("retry.base_seconds", DEFAULT)
        raise InvalidSetting(
            f"retry.ceiling_seconds is {retry.ceiling_seconds:g} ({ceiling}), below retry.base_seconds, "
            f"which is {retry.base_seconds:g} ({base}). Raise the ceiling or lower the base."
        )
