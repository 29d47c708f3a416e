"""A language as data: its grammar, the nodes of it that are scopes, names and calls, and its imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import tree_sitter

from detent.documents.parsed import Import
from detent.documents.source_text import SourceText

Match = Mapping[str, Sequence[tree_sitter.Node]]
Captures = Mapping[str, Sequence[tree_sitter.Node]]

CLASSES = frozenset(
    {"class", "struct", "union", "enum", "interface", "trait", "impl", "record", "annotation", "concept"}
)
NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"

_DEEPEST = 50_000
"""The depth of a tree to which queries look. They count depths with 16 bits, and take the square of the time for a
tree that is deeper."""

_LINE_COMMENT = re.compile(r"^\s*(?:///|//!|//|#)[ \t]?")
_DOTTED = re.compile(NAME + rb"(?:\s*(?:\.|::|->|\?\.)\s*#?" + NAME + rb")*")


@dataclass(frozen=True, eq=False)
class Language:
    """One language. Most of it is data: `names.scm` and `scopes.scm`, in each of the folders `queries`, say which nodes
    of the grammar are which, in captures that mean the same in every language.

    In `scopes.scm`: `scope.KIND`, with its `name`, and the `owner` that qualifies it, or the `trait` that it
    implements; `declared.KIND` is one that counts only where the file does not define it. A `wrapper` around what is
    `wrapped` belongs to it, such as decorators; a `header` does too, and to its signature. `import` is a statement that
    imports. A call whose name is a `mixin` lets a class inherit from what is `mixed` in.

    In `names.scm`: `name` is a place where something may be named, `call` the name of what is called, `invocation` a
    call whose name is in its field `callee`, `argument` one in a macro. `bare` is a call if a method has that name.
    `base` is what a class inherits from. `bind` is a name given to a parameter or a variable, `receiver` one given to
    the object of a method, `constant` one at the top of the file, `shared` one that another file of the package may
    define, `free` one that is not bound although it is assigned. `skip` is what looks like a name and is none.
    `comment` and `attribute` are what may stand above a scope.
    """

    name: str
    title: str
    load: Callable[[], object]
    queries: tuple[Path, ...]
    imports: Callable[[tree_sitter.Node, SourceText], Iterator[Import]]
    """Reads what one statement imports."""
    docstring: Callable[[tree_sitter.Node | None, SourceText], str] | None = None
    """Reads what a file or a scope says of itself at its beginning; without it, the comments above it say that."""
    dialect: Callable[[str, bytes], Language | None] | None = None
    """Tells from a file's name and text that it is written in another language than its ending says."""
    own: frozenset[str] = frozenset()
    """Names by which a method calls its own object or class."""
    classes: frozenset[str] = CLASSES
    """Kinds of scopes whose functions are methods."""
    callee: str = ""
    dotted: re.Pattern[bytes] = _DOTTED
    """A name with the names before it."""
    built_in: frozenset[bytes] = frozenset()
    """Types that no file has to define."""
    mixins: frozenset[str] = frozenset()
    """Methods that a class calls to inherit from a module."""
    fields_visible: bool = False
    """A method sees its class's fields by their plain names."""
    members_visible: bool = False
    """A method sees the other methods of its class by their plain names."""
    body_sees_members: bool = False
    """The body of a class sees its members by their plain names; its methods do not."""
    qualified_methods: bool = False
    """A function with a qualified name is a method, wherever it stands."""
    line_comment: re.Pattern[str] = _LINE_COMMENT
    """The sign that makes a line a comment, which is not part of its text."""
    signature_end: re.Pattern[str] | None = None
    """The end of the first line of a scope without a body, which is not part of its signature."""

    @cached_property
    def grammar(self) -> tree_sitter.Language:
        return tree_sitter.Language(self.load())

    def scopes(self, root: tree_sitter.Node) -> list[Match]:
        """The matches of the query for scopes."""
        return [match for _, match in _cursor(self._scopes_query).matches(root)]

    def names(self, root: tree_sitter.Node) -> Captures:
        """The nodes that the query for names captures, by the name of the capture, in the order of the text."""
        found = _cursor(self._names_query).captures(root)
        return {role: sorted(nodes, key=attrgetter("start_byte")) for role, nodes in found.items()}

    @cached_property
    def _scopes_query(self) -> tree_sitter.Query:
        return self._query("scopes")

    @cached_property
    def _names_query(self) -> tree_sitter.Query:
        return self._query("names")

    def _query(self, noun: str) -> tree_sitter.Query:
        texts = [(folder / f"{noun}.scm").read_text(encoding="utf-8") for folder in self.queries]
        return tree_sitter.Query(self.grammar, "\n".join(texts))


def _cursor(query: tree_sitter.Query) -> tree_sitter.QueryCursor:
    cursor = tree_sitter.QueryCursor(query)
    cursor.set_max_start_depth(_DEEPEST)
    return cursor
