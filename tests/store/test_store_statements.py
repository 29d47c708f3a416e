"""The SQL files: each statement named once, described, and used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import detent
from detent.store.statements import SQL

PACKAGE = Path(str(detent.__file__)).parent
FILES = sorted((PACKAGE / "store" / "sql").glob("*.sql"))
HEADING = re.compile(r"^-- name: (.*)$", re.MULTILINE)


def test_every_statement_is_named_once() -> None:
    names = [name for file in FILES for name in HEADING.findall(file.read_text())]
    assert len(names) == len(set(names)) == len(SQL)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_and_every_statement_is_described(file: Path) -> None:
    text = file.read_text()
    assert text.startswith("-- ")
    assert not text.startswith("-- name:")
    undescribed = [match[1] for match in re.finditer(r"^-- name: (\w+)\n(?!-- )", text, re.MULTILINE)]
    assert undescribed == []


def test_every_statement_is_used_somewhere() -> None:
    source = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    unused = [name for name in SQL if f'"{name}"' not in source]
    assert unused == []


def test_sql_stands_in_sql_files() -> None:
    """What is left in Python are statements whose names are data: partitions, locks, the schema's own record."""
    at_home = {"journal.py", "migration.py", "database.py", "notices.py", "tallies.py"}
    verbs = re.compile(r"\"[^\"]*\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\s", re.IGNORECASE)
    files = [file for file in (PACKAGE / "store").glob("*.py") if file.name not in at_home]
    found = [
        f"{file.name}: {line.strip()}"
        for file in files
        for line in file.read_text().splitlines()
        if verbs.search(line) and re.search(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b", line)
    ]
    assert found == []
