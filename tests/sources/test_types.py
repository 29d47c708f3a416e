"""Types of sources are looked up without importing what their sources need, and check what they are given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from detent.errors import InvalidSetting, InvalidSource
from detent.sources import Option, types

LOOK = """
import sys
from detent.sources import types
before = set(sys.modules)
assert types.names() == ["files", "wiki"], types.names()
found = set(sys.modules)
types.find("wiki")
print(sorted(name for name in found - before if name.startswith("detent")))
print(sorted(name for name in set(sys.modules) - found if name.startswith("detent.sources")))
print("httpx" in sys.modules, "numpy" in sys.modules)
"""


def _even(number: int) -> None:
    if number % 2:
        raise ValueError("it is odd")


def test_listing_types_imports_none_and_finding_one_imports_its_registration_alone() -> None:
    shown = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout.splitlines()
    registration = ["detent.sources.wiki", "detent.sources.wiki.registration", "detent.sources.wiki.settings"]
    assert shown == ["[]", str(registration), "False False"]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        (Option("age", type=int), "7", "it takes a whole number"),
        (Option("age", type=int), True, "it takes a whole number"),
        (Option("age", type=int, at_least=1), 0, "it is a whole number at least 1"),
        (Option("rate", type=float, above=0), 0, "it is a number above 0"),
        (Option("rate", type=float), float("nan"), "it takes a number"),
        (Option("mode", choices=("fast", "slow")), "quick", "it is one of fast, slow"),
        (Option("url", pattern="https?://.*", metavar="URL"), "ftp://x", "it does not look like URL"),
        (Option("file", type=Path, exists="file"), "nowhere", "there is no file nowhere"),
        (Option("names", repeatable=True), "one", "it takes a list, each of a text"),
        (Option("names", repeatable=True), [7], "it takes a text"),
        (Option("even", type=int, check=_even), 3, "it is odd"),
    ],
)
def test_a_value_that_an_option_cannot_take_is_refused(option: Option, value: Any, told: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{option.flag}.*{told}"):
        option.checked(value)


def test_a_refused_value_does_not_show_a_secret() -> None:
    with pytest.raises(InvalidSetting) as refused:
        Option("token", secret=True, pattern="[0-9]+").checked("hunter2")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(InvalidSetting) as refused:
        Option("url", pattern="ftp:.*").checked("https://me:hunter2@owl.example")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{"name": "Not-So"}, {"name": "tell"}, {"name": "when", "type": dict}])
def test_an_option_that_cannot_be_used_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSource):
        Option(**wrong)
    with pytest.raises(InvalidSource):
        Option("token", secret=True, default="hunter2")


@pytest.mark.parametrize("name", types.names())
def test_every_registered_type_has_help_for_each_of_its_options(name: str) -> None:
    found = types.find(name)
    assert found.summary.endswith(".")
    assert all(option.help for option in found.options)
