"""The user's project folder, found the way git finds its own."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Project:
    """A folder with a `.detent/` folder, a `detent.toml` file, or both."""

    root: Path

    @property
    def folder(self) -> Path:
        """The folder of Detent's own database and logs."""
        return self.root / ".detent"

    @property
    def file(self) -> Path:
        """The user's settings file; it need not exist."""
        return self.root / "detent.toml"

    @property
    def exists(self) -> bool:
        return self.folder.is_dir() or self.file.is_file()


def find_project(start: Path | None = None) -> Project | None:
    """Return the project that contains `start` (default: the working directory): the nearest enclosing project
    folder.

    The search ends at an unreadable folder, as it does at the root of the file system.
    """
    try:
        here = (start or Path.cwd()).resolve()
        for root in (here, *here.parents):
            project = Project(root)
            if project.exists:
                return project
    except (OSError, RuntimeError):  # no permission, a working directory that is gone, a loop of links
        return None
    return None
