"""Options: what somebody who adds a source can choose, declared once for the command line and for Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from detent.configuration.masking import masked
from detent.configuration.values import nearest
from detent.errors import InvalidSetting, InvalidSource, UnknownSetting

Settings = Mapping[str, Any]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TYPES = (str, int, float, bool, Path)
_FORMS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}
_RESERVED = ("name", "type_", "tell", "ask")
_PASSWORD = re.compile(r"://[^/?#@\s]*:[^/?#\s]*@")


@dataclass(frozen=True)
class Option:
    """One option of `detent add TYPE`, and keyword of `db.add_source()`.

    `name` is the keyword; on the command line it is `--name`, or what `flags` say, or an argument where it is
    `positional`. Without `default`, a positional option is required. With `repeatable` it takes several values, a list.

    `type` is str, int, float, bool (a flag) or Path. Numbers lie from `at_least` on, or `above`; a text matches
    `pattern` as a whole and is one of `choices`; a path leads to a "file", a "folder" or "any", if `exists` says so.
    `check` is called with each value, and raises ValueError with a reason to refuse it.

    A `secret` is no option of the command line: it is read from the environment variable `variable`, by default
    `DETENT_SECRET_<SOURCE>_<NAME>`, or from the owner's file of secrets. It is never kept with the settings.
    """

    name: str
    help: str = ""
    type: type = str
    default: Any = None
    positional: bool = False
    repeatable: bool = False
    secret: bool = False
    variable: str | None = None
    flags: Sequence[str] = ()
    metavar: str | None = None
    at_least: float | None = None
    above: float | None = None
    pattern: str | None = None
    choices: Sequence[str] = ()
    exists: Literal["file", "folder", "any"] | None = None
    check: Callable[[Any], object] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.name in _RESERVED:
            raise InvalidSource(f"No option can have the name {self.name!r}, which every type of source uses itself.")
        if not _NAME.fullmatch(self.name):
            raise InvalidSource(f"An option's name has small letters, digits and underscores, unlike {self.name!r}.")
        if self.type not in _TYPES:
            raise InvalidSource(f"The option {self.name!r} is of str, int, float, bool or Path, not {self.type!r}.")
        if self.secret and (self.type is not str or self.repeatable or self.positional or self.default is not None):
            raise InvalidSource(f"The option {self.name!r} is a secret: one text without a default.")

    @property
    def required(self) -> bool:
        return self.positional and self.default is None

    @property
    def flag(self) -> str:
        """The name of the option on the command line."""
        if self.positional:
            return self.metavar or self.name.upper()
        return self.flags[0] if self.flags else f"--{self.name.replace('_', '-')}"

    def checked(self, value: object) -> Any:
        """The value in its type, a tuple where it is repeatable. Raises InvalidSetting if it cannot be used."""
        if not self.repeatable:
            return self._checked(value)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._refused(value, f"it takes a list, each of {_FORMS[self.type]}")
        return tuple(self._checked(each) for each in value)

    def _checked(self, value: object) -> Any:
        typed = self._typed(value)
        if isinstance(typed, int | float) and not self._in_range(typed):
            bound = f"above {self.above:g}" if self.above is not None else f"at least {self.at_least:g}"
            raise self._refused(value, f"it is {_FORMS[self.type]} {bound}")
        if isinstance(typed, str) and self.pattern and not re.fullmatch(self.pattern, typed, re.DOTALL):
            raise self._refused(value, f"it does not look like {self.metavar or self.pattern}")
        if self.choices and typed not in self.choices:
            raise self._refused(value, f"it is one of {', '.join(self.choices)}")
        if isinstance(typed, Path) and self.exists:
            self._require(typed)
        if self.check is not None:
            try:
                self.check(typed)
            except ValueError as error:
                raise self._refused(value, str(error)) from None
        return typed

    def _typed(self, value: object) -> Any:
        if self.type is Path and isinstance(value, str | Path):
            return Path(value)
        if self.type is float and isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
        if self.type in (str, int, bool) and type(value) is self.type:
            return value
        raise self._refused(value, f"it takes {_FORMS[self.type]}")

    def _in_range(self, number: float) -> bool:
        return (self.at_least is None or number >= self.at_least) and (self.above is None or number > self.above)

    def _require(self, path: Path) -> None:
        there = {"file": path.is_file, "folder": path.is_dir, "any": path.exists}
        if self.exists and not there[self.exists]():
            what = self.exists if self.exists != "any" else "file or folder"
            raise InvalidSetting(f"{self.flag}: there is no {what} {path}.")

    def _refused(self, value: object, reason: str) -> InvalidSetting:
        quoted = masked(value) if isinstance(value, str) and "://" in value else value
        shown = "This value" if self.secret else f"{quoted!r:.60}"
        return InvalidSetting(f"{self.flag}: {shown} cannot be used: {reason.rstrip('.')}.")


def checked(type_: str, options: Sequence[Option], given: Settings) -> dict[str, Any]:
    """Return the given values, each converted to its type. None counts as not given.

    Raises UnknownSetting for a name that no option has, and InvalidSetting for a value that cannot be used.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            meant = nearest(name, {each: each for each in known})
            advice = f"Did you mean {meant!r}?" if meant else f"It has {', '.join(known) or 'none'}."
            raise UnknownSetting(f"A source of the type {type_!r} has no setting {name!r}. {advice}")
    return {name: known[name].checked(value) for name, value in given.items() if value is not None}


def refuse_passwords(type_: str, settings: Settings) -> None:
    """Refuse to keep an address with a password in it: a password is kept nowhere but in the owner's file."""
    for name, value in settings.items():
        if any(_PASSWORD.search(each) for each in _texts(value)):
            raise InvalidSetting(
                f"The {name} of a source of the type {type_!r} has a password in its address, which would be kept in "
                "the database. Leave it out of the address; a type that asks for passwords has a secret for them."
            )


def shown(settings: Settings) -> dict[str, Any]:
    """Settings as they may be shown."""
    return {
        name: masked(value) if isinstance(value, str) and "://" in value else value for name, value in settings.items()
    }


def kept(value: object) -> object:
    """A value as it is kept in the database: paths as absolute texts, tuples as lists."""
    if isinstance(value, tuple | list):
        return [kept(each) for each in value]
    return str(value.expanduser().resolve()) if isinstance(value, Path) else value


def _texts(value: object) -> Sequence[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, tuple | list) else []
