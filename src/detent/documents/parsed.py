"""The result of a parser: the parts of a file, and what they refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class Unparsable(Exception):
    """Nothing can be read from the file; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file that becomes a node of its own: a section, a function, a page.

    `key` is unique in the file, and stays the same while other parts change: it is made of names and headings, never of
    the numbers of lines. `parent` is the key of the part that it stands in, "" for the file itself; parents come before
    what is in them. `text` is its own text, without that of the parts in it, so that a change of one of these changes
    no other. It reaches from the line (or page) `first` to `last`, both counted from 1, what is in it included.
    """

    label: str
    key: str
    title: str
    text: str
    first: int
    last: int
    parent: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Import:
    """An import: a name of another module that a file makes its own.

    `module` is as it is written: "os.path", "..models", "./util", "crate::net", "stdio.h". `name` is what of it is
    imported: "" for the module itself, "*" for everything. `alias` is how it is called here, dotted if it has to be
    written so; "" if nothing is bound. `system`: it is said not to be a file of this project, as in `#include <…>`.
    `exported`: the name is not bound here but handed on, as in `export {a} from "./b"`; with no module, it is a name of
    the file itself, as in `export {a as b}`.
    """

    module: str
    name: str
    alias: str
    line: int
    system: bool = False
    exported: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A use: a part calls, inherits from or otherwise uses something, by its name as it is written: "helper",
    "self.run", "np.array", "Base". `part` is the key of the innermost part where it stands, "" for the file itself."""

    kind: str
    """One of "call", "inherit", "use"."""
    name: str
    part: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a part to another document, or a symbol that it names in code style."""

    kind: str
    """One of "link", "image", "code"."""
    target: str
    part: str
    line: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """`kind` is what the file is: "markdown", "python", "pdf". `text` is the file's own text, which stands in no part.
    `problems` are sentences on what could not be read, while the rest was."""

    kind: str
    title: str = ""
    text: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Part] = ()
    imports: Sequence[Import] = ()
    uses: Sequence[Use] = ()
    links: Sequence[Link] = ()
    problems: Sequence[str] = ()
