"""Plugins: objects that installed packages register for Detent as entry points, by group and name.

Detent's own types of sources and its providers of vectors are registered the same way, in its `pyproject.toml`. They
are looked up first: no other package can take their names, and finding them does not read the metadata of others.
Nothing is imported before it is used, so that a broken package fails the command that needs it and no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points
from typing import Any

from detent.errors import DetentError

SOURCES = "detent.sources"
EMBEDDING = "detent.embedding"

_OWN = "detent"


class PluginBroken(DetentError):
    """An installed package registers something that cannot be used; upgrade the package, or uninstall it."""

    def __init__(self, group: str, name: str, reason: str) -> None:
        entry = _find(group, name)
        package = entry.dist.name if entry and entry.dist else "an installed package"
        super().__init__(
            f"{name!r}, which {package} registers under {group}, cannot be used: {reason.rstrip('.')}. "
            f"Upgrade or uninstall {package}."
        )


def names(group: str) -> list[str]:
    """All registered names: Detent's own first, then those of other packages."""
    return [*_own(group), *sorted(set(_others(group)) - set(_own(group)))]


def load(group: str, name: str) -> Any:
    """The object registered under this name; None if there is none. Raises PluginBroken if it cannot be imported."""
    entry = _find(group, name)
    if entry is None:
        return None
    try:
        return entry.load()
    except Exception as error:  # whatever a package raises when it is imported
        raise PluginBroken(group, name, f"{type(error).__name__}: {error}") from error


def forget() -> None:
    """Look for installed packages again."""
    _own.cache_clear()
    _others.cache_clear()


def _find(group: str, name: str) -> EntryPoint | None:
    return _own(group).get(name) or _others(group).get(name)


@cache
def _own(group: str) -> Mapping[str, EntryPoint]:
    try:
        registered = Distribution.from_name(_OWN).entry_points
    except PackageNotFoundError:
        return {}
    return {entry.name: entry for entry in registered.select(group=group)}


@cache
def _others(group: str) -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}
