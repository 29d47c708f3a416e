"""Detent's own types of sources, which are configured in the database and need no module: `detent add TYPE …`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from detent.errors import InvalidSource
from detent.sources.source import Source

Make = Callable[[str, Mapping[str, Any]], Source]

_PLACES = {"files": "detent.sources.files.source:make", "wiki": "detent.sources.wiki.source:make"}
"""Where each type's source is made. It is imported when there is one."""


def make(name: str, type_: str, settings: Mapping[str, Any]) -> Source:
    """The source with this name, of one of Detent's own types."""
    if type_ not in _PLACES:
        raise InvalidSource(
            f"The source {name!r} is of the type {type_!r}, which this version of Detent does not know. "
            "Is it an older one than that which added the source?"
        )
    module, function = _PLACES[type_].split(":")
    makes: Make = getattr(importlib.import_module(module), function)
    return makes(name, settings)
