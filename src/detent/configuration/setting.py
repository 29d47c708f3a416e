"""The declaration of a setting, and the explanation of its value in force."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting.

    A number lies in its range; a text matches its pattern as a whole. `quoted` is False where an error must not
    repeat a wrong value, because it may be a secret in the wrong place.
    """

    description: str
    default: object
    unit: str | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    pattern: str | None = None
    form: str | None = None
    example: str | None = None
    secret: bool = False
    quoted: bool = True
    name: str = ""
    type: type = str
    variable: str | None = None
    option: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    @property
    def section(self) -> str:
        """The section's name; empty for a setting at the top."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def environment(self) -> str:
        return self.variable or "DETENT_" + self.name.upper().replace(".", "_")

    @property
    def flag(self) -> str:
        return self.option or "--" + self.key.replace("_", "-")

    @property
    def expectation(self) -> str:
        """The expected value, phrased to follow the words "must be"."""
        if self.form:
            return self.form
        kind = ("a whole number" if self.type is int else "a number") + f" of {self.unit}"
        if self.above is not None:
            return f"{kind} above {self.above:g}"
        if self.at_most is not None:
            return f"{kind} from {self.at_least:g} to {self.at_most:g}"
        return f"{kind}, at least {self.at_least:g}"


@dataclass(frozen=True)
class Explained:
    """One value in force, as `detent config` shows it: secrets are masked, lists are lists."""

    name: str
    value: str | int | float | list[str] | None
    unit: str | None
    description: str
    origin: str


def setting(description: str, default: T, **details: Any) -> T:
    """A field of a frozen dataclass that declares a setting."""
    declared = Setting(description, default, **details)
    value: T = field(default=default, repr=not declared.secret, metadata={"setting": declared})
    return value
