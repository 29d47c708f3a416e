"""Types of sources: what `detent add TYPE` adds, kept in the database, without a module in the user's project.

A type is registered as an entry point of the group `detent.sources`, Detent's own as those of other packages. Looking a
type up imports its registration, which is a declaration; what a source needs for its work is imported by `make`.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from detent import plugins
from detent.configuration.values import nearest
from detent.errors import InvalidSource, UnknownName
from detent.services.keyring import Keyring
from detent.sources.options import Option, Settings, kept
from detent.sources.source import Source

Counts = Mapping[tuple[str, str], int]
"""Number of a source's items by label and state."""

Make = Callable[[str, Settings], Source]
Change = Callable[[Settings | None], Settings]
Notify = Callable[[str], None]
Ask = Callable[[str], str]


@dataclass(frozen=True)
class Adding:
    """A source that is about to be added or changed, and what there is to know for that.

    `given` is what somebody said, `known` what is kept of a source with this name and type, None if there is none. With
    `changing`, what is not given stays as it is. `secrets` are those that are set. `others` are the settings of the
    other sources of the type, `defaults` what the configuration says for the type. `folder` is where files may be kept,
    if there is a project; `languages` are those that search has rules for. `tell` says why it takes so long; `ask` asks
    the person for a text, None where nobody can answer.
    """

    name: str
    given: Settings
    known: Settings | None = None
    changing: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    others: Sequence[Settings] = ()
    defaults: Settings = field(default_factory=dict)
    folder: Path | None = None
    languages: frozenset[str] = frozenset()
    tell: Notify = lambda words: None
    ask: Ask | None = None


@dataclass(frozen=True)
class Prepared:
    """A checked source, ready to be stored.

    `change` makes the new settings from the stored ones, which may differ by now: concurrent changes of a source are
    applied one after the other. `notes` list values that were interpreted. `secrets` are written into the owner's
    file. `told` describes the source in a sentence, given its settings and its number of items.
    """

    change: Change
    notes: Sequence[str] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    told: Callable[[Settings, Counts], str] | None = None


Prepare = Callable[[Adding], Awaitable[Prepared]]
Tidy = Callable[[Settings, Iterable[Settings]], None]


@dataclass(frozen=True)
class SourceType:
    """A type of source, as it is registered.

    `make` is given the source's name and its settings, with the secrets among them, and returns the Source. It is
    called by every process that works on the source, and should do no work of its own.

    `summary` is its line in `detent add --help`; `description` and `examples` are the rest of its help.

    `prepare` checks what was given before anything is kept, and decides what is kept; without it, that is what was
    given. `tidy` removes files that were made for a source with the first settings, and are of no use to the others.
    """

    name: str
    summary: str
    make: Make
    options: Sequence[Option] = ()
    description: str = ""
    examples: Sequence[str] = ()
    prepare: Prepare | None = None
    tidy: Tidy | None = None

    @property
    def secrets(self) -> dict[str, str | None]:
        """The names of its secrets, each with the environment variable that holds it, None for the usual one."""
        return {option.name: option.variable for option in self.options if option.secret}

    async def prepared(self, adding: Adding) -> Prepared:
        """Check the source, and return it ready to be stored. Raises an error if it cannot be added."""
        if self.prepare is not None:
            return await self.prepare(adding)
        public = {option.name: kept(option.default) for option in self.options if not option.secret}
        given = {name: kept(value) for name, value in adding.given.items() if name in public}
        secrets = {name: adding.given[name] for name in self.secrets if name in adding.given}

        def change(known: Settings | None) -> Settings:
            return {**public, **((known or {}) if adding.changing else {}), **given}

        return Prepared(change, secrets=secrets)


def names() -> list[str]:
    """The types that are installed, by name."""
    return plugins.names(plugins.SOURCES)


def find(name: str) -> SourceType:
    """The type of this name. Raises UnknownName if it is not installed, PluginBroken if it cannot be imported."""
    found = _registered(name)
    if found is None:
        meant = nearest(name, {each: each for each in names()})
        advice = f"Did you mean {meant!r}?" if meant else f"There are {', '.join(names())}."
        raise UnknownName(f"There is no type of source {name!r}. {advice}")
    return found


def make(name: str, type_: str, settings: Settings, keyring: Keyring | None = None) -> Source:
    """The source with this name and type, with its secrets from the keyring."""
    registered = _registered(type_)
    if registered is None:
        _not_installed(name, type_)
    secrets = (keyring or Keyring()).read(name, registered.secrets) if registered.secrets else {}
    source = registered.make(name, {**settings, **secrets})
    if not isinstance(source, Source) or source.name != name:
        raise InvalidSource(f"The type {type_!r} did not make the source {name!r}: its `make` returned {source!r:.60}.")
    return source


def tidy(type_: str, dropped: Settings, others: Iterable[Settings]) -> None:
    """Remove the files that were made for a source with these settings, and are of no use to the others of its type. Of
    a type that is not installed any more, nothing is removed."""
    with suppress(plugins.PluginBroken):
        registered = _registered(type_)
        if registered is not None and registered.tidy is not None:
            registered.tidy(dropped, others)


def _registered(name: str) -> SourceType | None:
    found = plugins.load(plugins.SOURCES, name)
    if found is None or (isinstance(found, SourceType) and found.name == name):
        return found
    raise plugins.PluginBroken(plugins.SOURCES, name, f"it is no detent.SourceType of the name {name!r}")


def _not_installed(name: str, type_: str) -> NoReturn:
    raise InvalidSource(
        f"The source {name!r} is of the type {type_!r}, which is not installed. Install the package that has it, or "
        f"remove the source: {shlex.join(['detent', 'remove', name])}"
    )
