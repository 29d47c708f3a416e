"""The material of the demo: Detent's documents and code in a checkout, its code alone where it was installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Material:
    """A folder, and the patterns of its files that the demo reads."""

    folder: Path
    patterns: tuple[str, ...]

    @property
    def files(self) -> set[str]:
        """The files that the patterns match, relative to the folder: found without Detent, to compare with."""
        found = (path for pattern in self.patterns for path in self.folder.glob(pattern))
        return {path.relative_to(self.folder).as_posix() for path in found if path.is_file()}

    @property
    def options(self) -> list[str]:
        """The options of `detent add files` that choose these files."""
        return [word for pattern in self.patterns for word in ("--include", pattern)]


def material() -> Material:
    """Choose what is there."""
    checkout = PACKAGE.parents[1]
    if (checkout / "docs" / "files.md").is_file():
        return Material(checkout, ("docs/**/*.md", "src/detent/**/*.py"))
    return Material(PACKAGE, ("**/*.py",))
