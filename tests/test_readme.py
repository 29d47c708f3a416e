"""The README's way from installation to a search result works, and its example is a program that runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def commands(heading: str) -> list[list[str]]:
    """The commands in the first block below a heading, each as words."""
    block = README.partition(f"## {heading}\n")[2].partition("```console\n")[2].partition("```")[0]
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines()]


@pytest.fixture
def environment(database: str) -> dict[str, str]:
    return {**os.environ, "DETENT_DATABASE_URL": database}


def test_the_example_has_under_15_lines_of_code() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) < 15


def test_the_example_finds_what_its_handler_wrote(tmp_path: Path, environment: dict[str, str]) -> None:
    program = tmp_path / "kitchen.py"
    program.write_text(example())
    result = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "failed=0" in result.stdout
    assert result.stdout.splitlines()[-1] == "Bread"


def test_five_commands_lead_from_installation_to_a_search_result(tmp_path: Path, environment: dict[str, str]) -> None:
    install, *others = commands("From nothing to a search result")
    assert install == ["pip", "install", "."]
    assert [words[:2] for words in others] == [
        ["detent", "init"],
        ["detent", "add"],
        ["detent", "run"],
        ["detent", "search"],
    ]
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "operation.md", tmp_path / "docs")
    for words in others:
        command = [sys.executable, "-m", *words]
        result = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
        )
    assert re.search(r"operation\.md:\d+-\d+", result.stdout)
