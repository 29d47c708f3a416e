"""The pictures, and the page of documentation, are what the tables say."""

import re
from pathlib import Path

import pytest

from detent.lifecycle import BUILTIN, Event, Lifecycle, document, mermaid

PAGE = Path(__file__).parents[2] / "docs" / "lifecycles.md"
REGENERATE = (
    ".venv/bin/python -c 'from detent.lifecycle import BUILTIN, document; "
    'print(document(BUILTIN.values()), end="")\' > docs/lifecycles.md'
)

ENTRY = re.compile(r"    \[\*\] --> (\w+)")
MOVE = re.compile(r"    (\w+) --> (\w+): (\w+)")
CLASS = re.compile(r"    class (\w+) working")
FIXED = {"stateDiagram-v2", "    classDef working font-weight:bold"}

every_builtin = pytest.mark.parametrize("table", BUILTIN.values(), ids=BUILTIN)


def matches(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return [found for line in text.splitlines() if (found := pattern.fullmatch(line))]


@every_builtin
def test_every_line_of_a_picture_is_one_that_mermaid_reads(table: Lifecycle) -> None:
    lines = mermaid(table).splitlines()
    assert lines[0] == "stateDiagram-v2"
    for line in lines:
        assert line in FIXED or any(pattern.fullmatch(line) for pattern in (ENTRY, MOVE, CLASS)), line


@every_builtin
def test_a_picture_has_each_row_exactly_once(table: Lifecycle) -> None:
    drawn = [(found[1], found[3], found[2]) for found in matches(MOVE, mermaid(table))]
    assert drawn == [(move.state, move.event.value, move.to) for move in table.moves]
    assert len(drawn) == len(set(drawn))


@every_builtin
def test_a_picture_begins_at_each_entry_the_initial_state_first(table: Lifecycle) -> None:
    drawn = [found[1] for found in matches(ENTRY, mermaid(table))]
    assert drawn[0] == table.initial
    assert sorted(drawn) == sorted(table.entries)


@every_builtin
def test_a_picture_marks_the_states_that_mean_work_under_way(table: Lifecycle) -> None:
    drawn = [found[1] for found in matches(CLASS, mermaid(table))]
    assert sorted(drawn) == sorted(table.working)


def test_the_page_has_a_section_a_table_and_a_picture_for_each_lifecycle() -> None:
    text = document(BUILTIN.values())
    sections = text.split("\n## ")[1:]
    assert [section.splitlines()[0] for section in sections] == list(BUILTIN)
    for section, table in zip(sections, BUILTIN.values(), strict=True):
        for move in table.moves:
            assert section.count(f"| `{move.state}` | `{move.event}` | `{move.to}` |\n") == 1
        assert f"```mermaid\n{mermaid(table)}```\n" in section


def test_the_page_explains_each_event() -> None:
    text = document([])
    assert re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE) == [event.value for event in Event]


def test_the_page_in_the_documentation_is_drawn_from_the_tables() -> None:
    drawn = document(BUILTIN.values())
    kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    assert kept == drawn, f"docs/lifecycles.md is not what the tables say; to draw it again:\n{REGENERATE}"
