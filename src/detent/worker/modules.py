"""The sources that a project declares in its own modules.

A module declares sources by having them in a list named `SOURCES`. Modules are looked for in the project's
folder too, but not if `detent.toml` belongs to somebody else: whoever writes it chooses what code runs.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from detent.configuration import Project
from detent.errors import InvalidSource
from detent.sources import Source


def load_sources(modules: Sequence[str], project: Project | None) -> list[Source]:
    """Import the modules and collect their sources."""
    if not modules:
        return []
    if project is not None:
        _refuse_strangers(project)
        if str(project.root) not in sys.path:
            sys.path.insert(0, str(project.root))
    found = [source for module in modules for source in _sources_of(module)]
    names = [source.name for source in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidSource(f"The source {name!r} is declared twice, in the modules {', '.join(modules)}.")
    return found


def _sources_of(name: str) -> Sequence[Source]:
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise InvalidSource(
            f"The module {name!r}, named in the setting handlers.modules, cannot be imported: "
            f"{type(error).__name__}: {error}."
        ) from error
    sources = getattr(module, "SOURCES", None)
    if not isinstance(sources, Sequence) or not all(isinstance(source, Source) for source in sources):
        raise InvalidSource(f"The module {name!r} declares no sources: it needs a list of them named SOURCES.")
    return sources


def _refuse_strangers(project: Project) -> None:
    if not project.file.exists():
        return
    owner = project.file.stat().st_uid
    if owner not in (0, os.geteuid()) and os.geteuid() != 0:
        raise InvalidSource(
            f"{project.file} belongs to another user, so the modules it names are not run. "
            "Copy it, or name the modules with DETENT_HANDLERS_MODULES."
        )
