"""The imports of each language, followed in a folder of files: a module for each language, found by its name.

Each has `link`, which notes what a file imports, and returns what finds the names that the file does not define itself.
If that depends on other files, such as on where a project begins, it has `root`, which tells on what.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.documents.parsed import Parsed
    from detent.sources.files.linking.consuming import Elsewhere
    from detent.sources.files.linking.gathering import Gathered
    from detent.sources.files.linking.roots import Root, Roots

    Link = Callable[[Gathered, Parsed, Roots], Elsewhere]
    Find = Callable[[Roots, str], Root]


def link_of(name: str) -> Link | None:
    """The function that follows the imports of a language; None if nothing follows them."""
    return getattr(_module(name), "link", None)


def root_of(name: str) -> Find | None:
    """The function that finds the root of a file in a language; None if its links depend on no other file."""
    return getattr(_module(name), "root", None)


@cache
def _module(name: str) -> ModuleType | None:
    place = f"{__name__}.{name}"
    return importlib.import_module(place) if name and find_spec(place) else None
