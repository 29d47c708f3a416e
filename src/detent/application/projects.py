"""Projects: a folder `.detent` and a settings file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from detent.configuration import Project, template
from detent.errors import DetentError
from detent.knowledge.value import Value


@dataclass(frozen=True)
class MadeProject(Value):
    """A project, and the names of what was made for it now."""

    root: Path
    made: Sequence[str]


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
