"""The settings of a files source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

MOST_BYTES = 10_000_000
PASSAGE_SIZE = 2000


@dataclass(frozen=True)
class FolderSettings:
    """A folder, and what of it is wanted: patterns as in `.gitignore`, hidden files or not, and how many bytes the
    largest file has whose content is read. Longer texts are split into passages of so many characters. `language` is
    that of its texts, None for what the database has."""

    root: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    most_bytes: int = MOST_BYTES
    passage_size: int = PASSAGE_SIZE
    language: str | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Settings as they are kept."""
        known: dict[str, Any] = {each.name: settings[each.name] for each in fields(cls) if each.name in settings}
        for name in ("include", "exclude"):
            known[name] = tuple(known.get(name, ()))
        return cls(**{**known, "root": Path(settings["root"])})

    def as_data(self) -> dict[str, Any]:
        written: dict[str, Any] = asdict(self)
        return {**written, "root": str(self.root), "include": list(self.include), "exclude": list(self.exclude)}
