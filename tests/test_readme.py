"""The README's example is a program that runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def test_the_example_has_under_30_lines_of_code() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) < 30


def test_the_example_runs_and_tells_why_the_one_item_failed(tmp_path: Path, database: str) -> None:
    program = tmp_path / "example.py"
    program.write_text(example())
    environment = {"DETENT_DATABASE_URL": database, "PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "failed=1" in result.stdout
    assert "served 2" in result.stdout
    assert "burnt 1" in result.stdout
    assert "nobody eats that" in result.stdout
