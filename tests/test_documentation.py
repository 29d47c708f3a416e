"""The examples in the documentation are programs that run, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = "<!-- complete example -->"
EXAMPLE = re.compile(
    re.escape(MARK) + r"\n```python\n(?P<program>.*?)```\n\nIt prints:\n\n```text\n(?P<output>.*?)```\n", re.DOTALL
)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


class Example(NamedTuple):
    program: str
    output: str


def examples() -> Iterator[tuple[str, Example]]:
    """Each complete example, and its place in the documentation."""
    for page in PAGES:
        for number, found in enumerate(EXAMPLE.finditer(page.read_text()), start=1):
            yield f"{page.name}-{number}", Example(found["program"], found["output"])


EXAMPLES = dict(examples())


def links() -> Iterator[tuple[Path, str]]:
    """Each link to a file, and the page that has it."""
    for page in PAGES:
        for found in LINK.finditer(CODE.sub("", page.read_text())):
            if "://" not in found["target"]:
                yield page, found["target"]


def anchors(page: Path) -> set[str]:
    """What the page's headings are called in links to them."""
    headings = [found["text"].lower() for found in HEADING.finditer(CODE.sub(_words, page.read_text()))]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def _words(code: re.Match[str]) -> str:
    return "" if code[0].startswith("```") else code[0].strip("`")


def test_every_example_that_is_marked_as_complete_says_what_it_prints() -> None:
    assert EXAMPLES
    assert len(EXAMPLES) == sum(page.read_text().count(MARK) for page in PAGES)


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_prints_what_the_documentation_says(place: str, tmp_path: Path, database: str) -> None:
    example = EXAMPLES[place]
    program = tmp_path / "example.py"
    program.write_text(example.program)
    result = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={"DETENT_DATABASE_URL": database, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stdout) == (0, example.output), result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for of, target in links():
        if of == page:
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def test_the_readme_leads_to_every_page_of_the_documentation() -> None:
    linked = {(page.parent / target.partition("#")[0]).resolve() for page, target in links() if page == PAGES[0]}
    assert {page for page in PAGES[1:] if page.resolve() not in linked} == set()
