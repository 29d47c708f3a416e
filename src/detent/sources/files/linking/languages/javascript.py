"""JavaScript and TypeScript: from what is written after `from` to the files that it may be.

A module may be a file or a folder with an `index`. A reference goes to the file, and the index says that it is meant by
that: it is its folder's front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from detent.documents.formats import PLAIN, format_of
from detent.documents.parsed import Parsed, Use
from detent.sources.files.folder import Entry
from detent.sources.files.linking.consuming import Aliases, Candidate, Elsewhere, member
from detent.sources.files.linking.fronts import rename, speak_for, take_over
from detent.sources.files.linking.gathering import IMPORTS, MOST_CANDIDATES, Gathered
from detent.sources.files.linking.paths import ending_of, folder_of, joined, stem_of
from detent.sources.files.linking.roots import Root, Roots, under

_SCRIPT_ENDINGS = ("js", "jsx", "ts", "tsx")
_TYPED_ENDINGS = ("ts", "tsx", "js")
_PLAIN = {_SCRIPT_ENDINGS: ("js", "mjs", "cjs"), _TYPED_ENDINGS: ("ts", "mts", "cts")}
_WRITTEN_IN = {
    "js": ("js", "ts", "tsx", "jsx"),
    "jsx": ("jsx", "tsx"),
    "mjs": ("mjs", "mts"),
    "cjs": ("cjs", "cts"),
}
"""The endings of a source file, by the ending of the compiled file under whose name it is imported."""

_OTHER_ENDINGS = frozenset(
    {"css", "scss", "sass", "less", "styl", "vue", "svelte", "astro", "graphql", "gql", "txt", "glsl"}
)
_PACKAGE = re.compile(r"(?:@[\w.~-]+/)?[A-Za-z_][\w.~-]*(?=/|\Z)")


def root(roots: Roots, path: str) -> Root:
    """Its `places` are the folders at the root and in its `src`, which some projects import by plain names."""
    top = roots.marked("javascript", path, ("package.json",))
    places = (top, under(top, "src"))
    return roots.root(("javascript", top), lambda: Root(top, "", roots.places("javascript", places, _importable)))


def _importable(entry: Entry) -> str:
    return entry.key.rpartition("/")[2] if entry.is_folder else ""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file imports: files by relative paths, and packages by their names."""
    modules = _Modules(gathered.path, parsed.kind, roots)
    for each in parsed.imports:
        for file in modules.files(each.module):
            gathered.file("", IMPORTS, file)
        if package := modules.package(each.module):
            gathered.library("npm", package)
    _speak(gathered, parsed, modules)
    aliases = Aliases([each for each in parsed.imports if not each.exported])

    def elsewhere(use: Use) -> Iterator[Candidate]:
        imports, names = aliases.find(use.name)
        for each in imports:
            meant = [each.name, *names] if each.name else names
            if meant:
                for file in modules.files(each.module):
                    yield from member(file, meant)

    return elsewhere


class _Modules:
    """The places of the modules that one file imports."""

    def __init__(self, path: str, language: str, roots: Roots) -> None:
        self._folder = folder_of(path)
        self._endings = _TYPED_ENDINGS if language == "typescript" else _SCRIPT_ENDINGS
        self._places = root(roots, path).places

    def files(self, written: str) -> list[str]:
        """The files that a module may be."""
        place = written.partition("?")[0]
        if place in {".", ".."} or place.startswith(("./", "../")):
            return list(self._under(self._folder, place))
        first, _, rest = place.partition("/")
        if not rest:
            return []
        found = (file for folder in self._places.get(first, ()) for file in self._under(folder, place))
        return list(islice(found, MOST_CANDIDATES))

    def likeliest(self, written: str) -> str:
        """The one file of those that a module may be which has the ending of a plain file of the language; "" if there
        is none, or not only one."""
        endings = _PLAIN[self._endings]
        found = [file for file in self.files(written) if ending_of(file) in endings]
        return found[0] if len(found) == 1 else ""

    def package(self, written: str) -> str:
        """The name of the package that a module is of; "" if it is of none. A name that a folder at the top has too is
        not decided: it depends on the settings of other tools."""
        place = written.removeprefix("node:").removeprefix("npm:")
        found = _PACKAGE.match(place)
        if found is None or ":" in place or place.partition("/")[0] in self._places:
            return ""
        return found[0]

    def _under(self, folder: str, place: str) -> Iterator[str]:
        found = joined(folder, place)
        if found is None:
            return
        ending = ending_of(place)
        if not found or place.rpartition("/")[2] in {"", ".", ".."}:
            yield from (joined(found, f"index.{each}") or "" for each in self._endings)
        elif ending in _WRITTEN_IN:
            stem = found[: -len(ending)]
            yield from (f"{stem}{each}" for each in _WRITTEN_IN[ending])
        elif ending in _OTHER_ENDINGS or format_of(found) is not PLAIN:
            yield found
        else:
            yield from (f"{found}.{each}" for each in self._endings)


def _speak(gathered: Gathered, parsed: Parsed, modules: _Modules) -> None:
    """Say what an index is known by, what a file exports by another name, and what it hands on from others; not whole
    modules, which are no scopes."""
    folder, stem = folder_of(gathered.path), stem_of(gathered.path)
    stand_in = f"{folder}.{ending_of(gathered.path)}" if folder and stem == "index" else ""
    if stand_in:
        speak_for(gathered, stand_in, parsed.parts)
    defined = {part.key for part in parsed.parts}
    for each in parsed.imports:
        is_named = each.alias not in {"", *defined} and each.name not in {"", "*"}
        if not each.exported or not is_named:
            continue
        if not each.module:
            rename(gathered, each.alias, each.name, parsed.parts, stand_in)
        elif file := modules.likeliest(each.module):
            take_over(gathered, each.alias, file, each.name, stand_in)
