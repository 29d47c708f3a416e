"""The languages: for each its grammar, what in it is a scope, a name, a call, and how it imports.

Most of that is data: `queries/LANGUAGE.scopes.scm` and `queries/LANGUAGE.names.scm` say which nodes of the grammar are
which, in captures that mean the same in every language:

- `scope.KIND`, with its `name`, and the `owner` that qualifies it, or the `trait` that it implements; `declared.KIND`
  is one that counts only where the file does not define it. A `wrapper` around what is `wrapped` belongs to it, such as
  decorators; a `header` does too, and to its signature. `import` is a statement that imports.
- `name` is a place where something may be named, `call` the name of what is called, `invocation` a call whose name is
  in a field of it, `base` what a class inherits from. `bind` is a name given to a parameter or a variable, `constant`
  one at the top of the file, `shared` one that another file of the package may define, `free` one that is not bound
  although it is assigned. `skip` is what looks like a name and is none. `comment` and `attribute` are what may stand
  above a scope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_ruby
import tree_sitter_rust
import tree_sitter_typescript

from detent.documents.code.imports import c, go, java, javascript, python, ruby, rust
from detent.documents.code.source import Source
from detent.documents.parsed import Import

Match = Mapping[str, Sequence[tree_sitter.Node]]
Captures = Mapping[str, Sequence[tree_sitter.Node]]

_DEEPEST = 50_000
"""How deep in a tree something is looked for. Queries count depths with 16 bits, and take the square of the time for a
tree that is deeper."""

_QUERIES = Path(__file__).parent / "queries"
_CLASSES = frozenset(
    {"class", "struct", "union", "enum", "interface", "trait", "impl", "record", "annotation", "concept"}
)
_GO_TYPES = (
    b"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint "
    b"uint8 uint16 uint32 uint64 uintptr"
)
_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_DOTTED = re.compile(_NAME + rb"(?:\s*(?:\.|::|->|\?\.)\s*#?" + _NAME + rb")*")
_RUBY_DOTTED = re.compile(_NAME + rb"(?:\s*(?:&?\.|::)\s*" + _NAME + rb")*[?!]?")


@dataclass(frozen=True)
class Language:
    """`own` are the names by which a method calls its own object or class. `classes` are the kinds of scopes whose
    functions are methods. `fields_visible`: a method sees its class's fields by their plain names."""

    name: str
    title: str
    grammar_name: str
    load: Callable[[], object]
    queries: tuple[str, ...]
    imports: Callable[[tree_sitter.Node, Source], Iterator[Import]]
    own: frozenset[str] = frozenset()
    classes: frozenset[str] = _CLASSES
    fields_visible: bool = False
    callee: str = ""
    """The field of an `invocation` that ends the name of what is called."""
    dotted: re.Pattern[bytes] = _DOTTED
    built_in: frozenset[bytes] = frozenset()
    """Types that no file has to define."""

    @cached_property
    def grammar(self) -> tree_sitter.Language:
        return tree_sitter.Language(self.load())

    def scopes(self, root: tree_sitter.Node) -> list[Match]:
        """What the query for scopes finds, one by one."""
        return [match for _, match in _cursor(self._scopes_query).matches(root)]

    def names(self, root: tree_sitter.Node) -> Captures:
        """What the query for names finds, by what it is, in the order of the text."""
        found = _cursor(self._names_query).captures(root)
        return {role: sorted(nodes, key=attrgetter("start_byte")) for role, nodes in found.items()}

    @cached_property
    def _scopes_query(self) -> tree_sitter.Query:
        return self._query("scopes")

    @cached_property
    def _names_query(self) -> tree_sitter.Query:
        return self._query("names")

    def _query(self, noun: str) -> tree_sitter.Query:
        texts = [(_QUERIES / f"{query}.{noun}.scm").read_text(encoding="utf-8") for query in self.queries]
        return tree_sitter.Query(self.grammar, "\n".join(texts))


def _cursor(query: tree_sitter.Query) -> tree_sitter.QueryCursor:
    cursor = tree_sitter.QueryCursor(query)
    cursor.set_max_start_depth(_DEEPEST)
    return cursor


PYTHON = Language(
    "python",
    "Python",
    "python",
    tree_sitter_python.language,
    ("python",),
    python.imports,
    own=frozenset({"self", "cls", "super"}),
)
JAVASCRIPT = Language(
    "javascript",
    "JavaScript",
    "javascript",
    tree_sitter_javascript.language,
    ("javascript", "javascript.only"),
    javascript.imports,
    own=frozenset({"this", "super"}),
)
_TYPESCRIPT, _TSX = (
    Language(
        "typescript",
        "TypeScript",
        grammar_name,
        load,
        ("javascript", "typescript"),
        javascript.imports,
        own=frozenset({"this", "super"}),
    )
    for grammar_name, load in (
        ("typescript", tree_sitter_typescript.language_typescript),
        ("tsx", tree_sitter_typescript.language_tsx),
    )
)
_GO = Language("go", "Go", "go", tree_sitter_go.language, ("go",), go.imports, built_in=frozenset(_GO_TYPES.split()))
_RUST = Language(
    "rust",
    "Rust",
    "rust",
    tree_sitter_rust.language,
    ("rust",),
    rust.imports,
    own=frozenset({"self", "Self", "crate", "super"}),
)
_JAVA = Language(
    "java",
    "Java",
    "java",
    tree_sitter_java.language,
    ("java",),
    java.imports,
    own=frozenset({"this", "super"}),
    fields_visible=True,
    callee="name",
)
_C = Language("c", "C", "c", tree_sitter_c.language, ("c",), c.imports)
CPP = Language(
    "cpp",
    "C++",
    "cpp",
    tree_sitter_cpp.language,
    ("c", "cpp"),
    c.imports,
    own=frozenset({"this"}),
    fields_visible=True,
)
_RUBY = Language(
    "ruby",
    "Ruby",
    "ruby",
    tree_sitter_ruby.language,
    ("ruby",),
    ruby.imports,
    own=frozenset({"self"}),
    classes=_CLASSES | {"module"},
    callee="method",
    dotted=_RUBY_DOTTED,
)

BY_ENDING = {
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TSX,
    ".go": _GO,
    ".rs": _RUST,
    ".java": _JAVA,
    **dict.fromkeys((".c", ".h"), _C),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"), CPP),
    ".rb": _RUBY,
}
"""The language in which a file is written, by the ending of its name."""
