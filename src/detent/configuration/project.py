"""The folder that a user works in, found the way git finds its own."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Project:
    """A folder with a `.detent/` folder, a `detent.toml` file, or both."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where Detent keeps its own database and logs."""
        return self.root / ".detent"

    @property
    def file(self) -> Path:
        """The user's settings; the file need not exist."""
        return self.root / "detent.toml"

    @property
    def exists(self) -> bool:
        return self.folder.is_dir() or self.file.is_file()


def find_project(start: Path | None = None) -> Project | None:
    """The project that `start` (the working directory) lies in: the nearest folder upward that is one.

    The search ends at a folder that may not be read, as it does at the root of the file system.
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
