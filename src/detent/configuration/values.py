"""Conversion of written text into a value of the right type and range, or into an error that says what to write."""

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from detent.configuration.setting import Setting
from detent.errors import InvalidSetting

Value = int | float | str | tuple[str, ...]

T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """A chosen value, and the place where it was set."""

    value: Value
    origin: str


def from_text(setting: Setting, text: str) -> object:
    """Convert the text of a variable or flag; text that is not of the setting's type is returned as it is."""
    if setting.type is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    if setting.type is str:
        return text.strip()
    try:
        return int(text) if setting.type is int else float(text)
    except ValueError:
        return text


def checked(setting: Setting, value: object, name: str, where: str) -> Value:
    """Return the typed value, or raise InvalidSetting naming the setting, the place and the expected value."""
    typed = _typed(setting, value)
    if typed is None or not _allowed(setting, typed):
        hidden = setting.secret or not setting.quoted
        found = "has a value that cannot be used" if hidden else f"is {_shown(value)}"
        raise InvalidSetting(f"{where}: {name} {found}. It must be {setting.expectation}.")
    return typed


def nearest(word: str, known: Mapping[str, T]) -> T | None:
    """Return the entry whose name is most like `word`, or None if none is similar."""
    alike = difflib.get_close_matches(word, known, n=1)
    return known[alike[0]] if alike else None


def _typed(setting: Setting, value: object) -> Value | None:
    if setting.type is tuple:
        return _texts(value)
    if setting.type is float and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value)
    if setting.type is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if setting.type is str and isinstance(value, str):
        return value
    return None


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    texts = tuple(part for part in value if isinstance(part, str))
    return texts if len(texts) == len(value) else None


def _finite(number: float) -> float | None:
    try:
        return float(number) if math.isfinite(number) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _allowed(setting: Setting, value: Value) -> bool:
    if isinstance(value, int | float):
        return (
            (setting.at_least is None or value >= setting.at_least)
            and (setting.above is None or value > setting.above)
            and (setting.at_most is None or value <= setting.at_most)
        )
    texts = (value,) if isinstance(value, str) else value
    return all(re.fullmatch(setting.pattern or ".*", text, re.DOTALL) for text in texts)


def _shown(value: object) -> str:
    """Format the value as TOML, shortened if it is long."""
    if isinstance(value, dict):
        return "a table"
    text = json.dumps(list(value) if isinstance(value, tuple) else value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:58] + " …"
