"""Detent's own types of sources, which are configured in the database and need no module: `detent add TYPE …`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from detent.errors import InvalidSource
from detent.sources.source import Source

Settings = Mapping[str, Any]
Make = Callable[[str, Settings], Source]
Tidy = Callable[[Settings, Iterable[Settings]], None]

_PLACES = {"files": "detent.sources.files.source:make", "wiki": "detent.sources.wiki.source:make"}
"""Where each type's source is made. It is imported when there is one."""
_TIDYING = {"wiki": "detent.sources.wiki.source:tidy"}
"""Where types keep files for their sources, and what removes them."""


def make(name: str, type_: str, settings: Settings) -> Source:
    """The source with this name, of one of Detent's own types."""
    if type_ not in _PLACES:
        raise InvalidSource(
            f"The source {name!r} is of the type {type_!r}, which this version of Detent does not know. "
            "Is it an older one than that which added the source?"
        )
    makes: Make = _imported(_PLACES[type_])
    return makes(name, settings)


def tidy(type_: str, dropped: Settings, others: Iterable[Settings]) -> None:
    """Remove the files that were made for a source with these settings, and are of no use to the others of its type."""
    if type_ in _TIDYING:
        tidies: Tidy = _imported(_TIDYING[type_])
        tidies(dropped, others)


def _imported(place: str) -> Any:
    module, function = place.split(":")
    return getattr(importlib.import_module(module), function)
