"""The SQL of the store, by name: `statements.claim` is the statement `-- name: claim` of a file in `sql/`."""

from __future__ import annotations

import re
from importlib import resources

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def read() -> dict[str, str]:
    """Read every named statement of every file."""
    named: dict[str, str] = {}
    for file in sorted(resources.files(__package__).joinpath("sql").iterdir(), key=lambda file: file.name):
        _, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in named:
                raise ValueError(f"The statement {name!r} is in two files.")
            named[name] = _without_comments(text)
    return named


def _without_comments(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().rstrip(";")


SQL = read()
