"""The sources of a run: those that a program declares or its modules do, and those that were added to the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from detent.configuration import load, require_stages
from detent.errors import InvalidSource
from detent.worker.configured import with_configured
from detent.worker.modules import load_sources

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.sources import Source


async def declared(opened: Connected, given: Sequence[Source]) -> list[Source]:
    """The sources that a program gave, or else those of its modules, and those that were added to the database."""
    return await with_configured(opened.store, given or _of_modules(opened), opened.project)


def _of_modules(opened: Connected) -> list[Source]:
    modules = opened.settings.handlers.modules
    try:
        return load_sources(modules, opened.place)
    except SystemExit as left:
        raise InvalidSource(
            f"The program was ended by sys.exit({left.code!r}) while the modules {', '.join(modules)} were imported. "
            'What only a script does belongs below `if __name__ == "__main__":`.'
        ) from left


def nothing_declared(opened: Connected) -> str:
    """Say what to do where no source is declared."""
    modules = opened.settings.handlers.modules
    if modules:
        return f"The modules {', '.join(modules)} declare no sources: their lists SOURCES are empty."
    return (
        "No sources are configured. Add a folder with `detent add files NAME FOLDER` or a wiki with `detent add wiki`; "
        f"or name the Python modules that declare your own in {opened.place.file}, as "
        'modules = ["my_module"] under [handlers], or with --modules; `detent init` writes that file.'
    )


def require_known_stages(opened: Connected, sources: Sequence[Source]) -> None:
    """Refuse settings of stages that do not exist, unless these are not all of the project's modules."""
    modules = load(opened.place, environment={}).handlers.modules
    if set(modules) <= set(opened.settings.handlers.modules):
        lifecycles = [lifecycle for source in sources for lifecycle in source.lifecycles.values()]
        places = [(lifecycle.name, state) for lifecycle in lifecycles for state in lifecycle.working]
        require_stages(
            opened.settings, [name for lifecycle, state in places for name in (state, f"{lifecycle}.{state}")]
        )
