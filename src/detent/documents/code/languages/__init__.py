"""The languages: a folder for each, with its `LANGUAGE` and its queries, and a line here with the endings of its files.

A folder is imported when the first file of its language is parsed. A language of which nothing else is known has its
scopes, imports and comments, and the links between the scopes of one file; where its imports lead in a folder of files
is told by a module of its name in `detent.sources.files.linking.languages`.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.documents.code.language import Language

_ENDINGS = {
    ".c": "c h",
    ".cpp": "cc cpp cxx hpp hh hxx",
    ".go": "go",
    ".java": "java",
    ".javascript": "js jsx mjs cjs",
    ".python": "py pyi",
    ".ruby": "rb",
    ".rust": "rs",
    ".typescript": "ts tsx mts cts",
}

FOLDERS = {ending: folder for folder, endings in _ENDINGS.items() for ending in endings.split()}
"""The folder of the language in which a file is written, by the ending of its name: a package, relative to this one."""


def name_of(ending: str) -> str:
    """The name of the language of files that end so, which is that of its folder; "" if it is none that is known."""
    return FOLDERS.get(ending, "").rpartition(".")[2]


def by_ending(ending: str) -> Language | None:
    """The language of files that end so."""
    return _loaded(FOLDERS[ending]) if ending in FOLDERS else None


def by_name(name: str) -> Language | None:
    """The language of this name."""
    return next((_loaded(folder) for folder in FOLDERS.values() if folder.rpartition(".")[2] == name), None)


@cache
def _loaded(folder: str) -> Language:
    language: Language = importlib.import_module(folder, __name__).LANGUAGE
    return language
