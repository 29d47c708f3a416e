"""Projects: a folder `.detent` and a settings file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from detent.application.connecting import project_at, settings_of
from detent.configuration import Project, template
from detent.errors import DetentError
from detent.knowledge.value import Value


@dataclass(frozen=True)
class MadeProject(Value):
    """A project, and the names of what was made for it now."""

    root: Path
    made: Sequence[str]


@dataclass(frozen=True)
class ShownSetting(Value):
    """A setting in force, and where it comes from. Secrets are hidden."""

    name: str
    value: str | int | float | Sequence[str] | None
    unit: str | None
    description: str
    origin: str


@dataclass(frozen=True)
class ShownSettings(Value):
    """The settings in force for a project, and its settings file, which need not exist."""

    project: Path | None
    file: Path | None
    settings: Sequence[ShownSetting]


def settings_in_force(folder: str | Path | None = None, *, database: str | None = None) -> ShownSettings:
    """Every setting of a project: its value in force, and whether that is from a flag, the environment, a file or the
    default."""
    project = project_at(folder)
    explained = settings_of(project, database=database).explain()
    return ShownSettings(
        project.root if project else None,
        project.file if project else None,
        [ShownSetting(each.name, each.value, each.unit, each.description, each.origin) for each in explained],
    )


def make_project(folder: str | Path) -> MadeProject:
    """Make a folder a project: a folder `.detent` and a commented `detent.toml`. What is there stays as it is."""
    project = Project(Path(folder).resolve())
    try:
        return MadeProject(project.root, [*_make_folder(project.folder), *_make_settings(project.file)])
    except OSError as error:
        raise DetentError(f"{project.root} cannot become a project: {error.strerror}.") from error


def _make_folder(folder: Path) -> list[str]:
    from detent.postgres.folder import make_project_folder

    folder.parent.mkdir(parents=True, exist_ok=True)
    return [folder.name] if make_project_folder(folder) else []


def _make_settings(file: Path) -> list[str]:
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(template())
    except FileExistsError:
        return []
    return [file.name]
