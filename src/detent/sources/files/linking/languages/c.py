"""C and C++: where an included header may be, and which scopes it and the file beside it may declare."""

from __future__ import annotations

from collections.abc import Iterator

from detent.documents.parsed import Parsed, Use
from detent.sources.files.linking.consuming import Candidate, Elsewhere, nowhere
from detent.sources.files.linking.gathering import IMPORTS, Gathered
from detent.sources.files.linking.paths import ending_of, folder_of, joined
from detent.sources.files.linking.roots import Roots

_MOST_HEADERS = 3
"""Project headers up to which a name is looked for in them: of more it would be a guess."""

_HEADERS = ("", "include", "src")
_DEFINING = {"c": "c", "h": "c", "cc": "cc", "hh": "cc", "cpp": "cpp", "hpp": "cpp", "cxx": "cxx", "hxx": "cxx"}
"""The ending of the files that define the functions which a file calls, by the file's own ending."""


def link(gathered: Gathered, parsed: Parsed, roots: Roots) -> Elsewhere:
    """Note what a file includes."""
    headers: list[list[str]] = []
    for written, system in dict.fromkeys((each.module, each.system) for each in parsed.imports):
        if system:
            gathered.library("c", written)
        elif places := _places(gathered.path, written):
            headers.append(places)
            for place in places:
                gathered.file("", IMPORTS, place)
    if not 0 < len(headers) <= _MOST_HEADERS:
        return nowhere
    ending = ending_of(gathered.path)
    defining = "cpp" if parsed.kind == "cpp" and ending == "h" else _DEFINING.get(ending, "c")
    files = list(_files(headers, defining))

    def elsewhere(use: Use) -> Iterator[Candidate]:
        if use.kind == "call" and "." not in use.name:
            yield from (Candidate(file, use.name) for file in files if file != gathered.path)

    return elsewhere


def _places(path: str, written: str) -> list[str]:
    """The places where a header may be: beside the file, or in one of the folders for headers."""
    if written.startswith("/") or "\\" in written or not written.rpartition("/")[2].strip("."):
        return []
    found = (joined(folder, written) for folder in (folder_of(path), *_HEADERS))
    return list(dict.fromkeys(place for place in found if place))


def _files(headers: list[list[str]], defining: str) -> Iterator[str]:
    """The headers and what is beside them, the nearest places of all of them first."""
    for nearness in range(len(_HEADERS) + 1):
        for places in headers:
            if nearness < len(places):
                yield places[nearness]
                yield f"{places[nearness].rpartition('.')[0] or places[nearness]}.{defining}"
