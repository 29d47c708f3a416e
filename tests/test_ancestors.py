"""How the ancestors fail: each line of that list which is this part's to cure is named by a test that proves it.

A test names lines in its docstring: `ANCESTORS 12 and 46`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CURED = [*range(1, 22), *range(31, 35), 44, 45, 46, 47, 49, 50]
NAMED = re.compile(r"ANCESTORS (\d+(?:(?:, | and )\d+)*)")


def proofs() -> Iterator[tuple[int, str]]:
    """The lines that tests name, each with the test."""
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for lines in NAMED.findall(ast.get_docstring(node) or ""):
                    yield from ((int(line), f"{file.name}::{node.name}") for line in re.findall(r"\d+", lines))


@pytest.mark.parametrize("line", CURED)
def test_a_test_proves_that_the_ancestors_failure_is_cured(line: int) -> None:
    assert [test for number, test in proofs() if number == line]
