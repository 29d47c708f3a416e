"""Ruby: what is required is a file of `lib`, or a gem. A constant is where convention has it: `Shop::LineItem` in
`shop/line_item.rb` below `lib` or a folder in `app`; or in one of the files beside it that a file requires."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from detent.documents.code.languages import name_of
from detent.documents.parsed import Parsed, Part, Use
from detent.sources.files.folder import Entry
from detent.sources.files.linking.consuming import Candidate, Elsewhere, member
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import ending_of, folder_of, joined, stem_of
from detent.sources.files.linking.roots import Root, Roots, under

_MOST_REQUIRED = 3
"""Files beside it that a file may require, and a name still be looked for in them: of more it would be a guess."""

_CORE = frozenset(
    {"Array", "BasicObject", "Class", "Comparable", "Dir", "ENV", "Enumerable", "Enumerator", "Exception", "File"}
    | {"FileUtils", "Float", "GC", "Hash", "IO", "Integer", "Kernel", "Marshal", "Math", "Method", "Module", "Mutex"}
    | {"Object", "ObjectSpace", "Proc", "Process", "Random", "Range", "Rational", "Regexp", "Set", "Signal", "String"}
    | {"StringIO", "Struct", "Symbol", "Thread", "Time", "RUBY_VERSION", "URI", "JSON", "YAML", "CGI", "Zlib", "Date"}
)
"""Constants that come with Ruby, and that a project is unlikely to define too."""

_SPACES = frozenset({"class", "module"})
_DEEPEST = 8
_BORDER = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z\d])(?=[A-Z])")


def root(roots: Roots, path: str) -> Root:
    """Its `places` are what is at the top of `lib`, and of the folders in `app`."""
    top = roots.marked("ruby", path, ("Gemfile", "Rakefile"))

    def find() -> Root:
        app = under(top, "app")
        loaded = [under(top, "lib"), *(under(app, name) for name in roots.names("ruby", app, _importable))]
        return Root(top, "", roots.places("ruby", loaded, _importable))

    return roots.root(("ruby", top), find)


def _importable(entry: Entry) -> str:
    name = entry.key.rpartition("/")[2]
    if entry.is_folder:
        return name
    return stem_of(name) if name_of(ending_of(name)) == "ruby" else ""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file requires."""
    project = root(roots, gathered.path)
    near: list[str] = []
    for each in parsed.imports:
        first = each.module.partition("/")[0]
        is_near = first in {".", ".."}
        folder = folder_of(gathered.path) if is_near else joined(project.folder, "lib")
        if not is_near and folder not in project.places.get(first, ()):
            gathered.library("ruby", first)
        elif file := joined(folder or "", each.module):
            file = file if file.endswith(".rb") else f"{file}.rb"
            gathered.file("", IMPORTS, file)
            near += [file] if is_near else []
    near = list(dict.fromkeys(near)) if len(set(near)) <= _MOST_REQUIRED else []
    parts = {part.key: part for part in parsed.parts}

    def elsewhere(use: Use) -> Iterator[Candidate]:
        names = use.name.split(".")
        spaces = _spaces(parts, use)
        if _is_constant(names[0]):
            yield from _constants(project, near, names, spaces)
        elif use.kind == "call" and len(names) == len(spaces) == 1:
            yield from (Candidate(file, use.name) for file in near)

    return elsewhere


def _constants(root: Root, near: Sequence[str], names: Sequence[str], spaces: Sequence[str]) -> Iterator[Candidate]:
    """The candidates for a constant, with a method that is called on it. What is at the top of the project is meant
    wherever its name is written; only what is not may be in one of the modules around."""
    constants = list(takewhile(_is_constant, names))
    if constants[0] in _CORE or constants[0].endswith("Error"):
        return
    titles = [".".join(filter(None, [space, *constants])) for space in spaces]
    method = names[len(constants) :][:1]
    for title in titles[-1:] if _written(constants[0]) in root.places else titles:
        steps = [_written(name) for name in title.split(".")]
        for folder in root.places.get(steps[0], ()):
            yield from _called(joined(folder, f"{'/'.join(steps)}.rb") or "", title, method)
    for file in near:
        for title in titles:
            yield from _called(file, title, method)


def _called(file: str, title: str, method: Sequence[str]) -> Sequence[Candidate]:
    """A class or a method of it. No class defines `new` itself."""
    return [Candidate(file, title, exact=False)] if method == ["new"] else member(file, [title, *method])


def _spaces(parts: Mapping[str, Part], use: Use) -> list[str]:
    """The titles of the modules around a place, the innermost first, and "" at last. What a class inherits from is
    looked for around the class."""
    part = parts.get(use.part)
    if part is not None and use.kind == "inherit":
        part = parts.get(part.parent)
    found: list[str] = []
    while part is not None and len(found) < _DEEPEST:
        if part.properties.get("kind") in _SPACES:
            found.append(part.title)
        part = parts.get(part.parent)
    return [*found, ""]


def _is_constant(name: str) -> bool:
    return name[:1].isupper()


def _written(constant: str) -> str:
    """A constant as the name of its file: `LineItem` is `line_item`."""
    return _BORDER.sub("_", constant).lower()
