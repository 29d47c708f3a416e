"""The sources that a project declares in its own modules.

A module declares sources by having them in a list named `SOURCES`. Modules are looked for in the project's
folder too, but not if that or its `detent.toml` belongs to somebody else.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from detent.configuration import Project
from detent.errors import InvalidSource
from detent.sources import Source
from detent.worker.outcomes import describe


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
            f"{describe(error).rstrip('.')}."
        ) from error
    declared = getattr(module, "SOURCES", None)
    sources = [declared] if isinstance(declared, Source) else declared
    if not isinstance(sources, Sequence) or not all(isinstance(source, Source) for source in sources):
        raise InvalidSource(f"The module {name!r} declares no sources: it needs a list of them named SOURCES.")
    return sources


def _refuse_strangers(project: Project) -> None:
    """Whoever can write to the folder chooses what code runs: the user themselves, or root."""
    trusted = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        trusted.add(int(os.environ["SUDO_UID"]))
    for path in (project.root, project.file):
        if path.exists() and path.stat().st_uid not in trusted:
            raise InvalidSource(
                f"{path} belongs to another user, so no module is imported for it. "
                "Run Detent as that user, or make a project of your own with `detent init`."
            )
