"""The verbs that add and change sources of registered types, and list all sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from detent.application.verbs import Verbs
from detent.errors import InvalidConfiguration, InvalidSetting, UnknownName
from detent.knowledge.value import Value
from detent.plugins import PluginBroken
from detent.services.keyring import Keyring, scrubbed

if TYPE_CHECKING:
    from detent.sources.options import Option, Settings
    from detent.sources.types import Adding, Ask, Notify, Prepared, SourceType
    from detent.store.ledger.sources import Configured

_MASK = "***"


@dataclass(frozen=True)
class AddedSource(Value):
    """A source that was added or changed. `notes` say what was understood otherwise than it was said; `told` says in a
    sentence what the source is now."""

    name: str
    type: str
    settings: Mapping[str, Any]
    notes: Sequence[str]
    told: str


@dataclass(frozen=True)
class ListedType(Value):
    """An installed type of source. `broken` says why it cannot be used, if it cannot."""

    name: str
    summary: str
    options: Sequence[Option]
    broken: str | None = None

    def as_data(self) -> dict[str, Any]:
        from detent.sources.options import kept

        return {
            "name": self.name,
            "summary": self.summary,
            "options": [
                {
                    "name": each.name,
                    "help": each.help,
                    "type": each.type.__name__.lower(),
                    "default": kept(each.default),
                    "required": each.required,
                    "repeatable": each.repeatable,
                    "secret": each.secret,
                }
                for each in self.options
            ],
            "broken": self.broken,
        }


class AddVerbs(Verbs):
    """Add, change and list sources."""

    async def add_source(
        self, name: str, type_: str, *, tell: Notify | None = None, ask: Ask | None = None, **settings: object
    ) -> AddedSource:
        """Add a source of a registered type, such as `add_source("docs", "files", folder="./docs")`.

        The keywords are the type's options: those of `detent add TYPE --help`. Called again with the same name and
        type, it changes the source as `detent add` does. Nothing is kept if something is wrong with the settings.

        `tell` is called with a sentence while a service keeps it waiting. `ask` is called with a question where
        something is needed that only a person knows; without it, that is an error.
        """
        return await self._add(name, find_type(type_), settings, tell, ask, changing=False)

    async def change_source(
        self, name: str, *, tell: Notify | None = None, ask: Ask | None = None, **settings: object
    ) -> AddedSource:
        """Change some settings of a source that was added; what is not given stays as it is."""
        known = {each.name: each for each in await self.store.sources.configured()}
        if name not in known:
            from detent.store.ledger.kinds import unknown

            raise unknown("source with settings", name, list(known))
        return await self._add(name, find_type(known[name].type), settings, tell, ask, changing=True)

    async def source_types(self) -> list[ListedType]:
        """The installed types of sources, with their options."""
        return list_types()

    async def _add(
        self, name: str, found: SourceType, given: Settings, tell: Notify | None, ask: Ask | None, *, changing: bool
    ) -> AddedSource:
        from detent.services import pace
        from detent.sources.options import refuse_passwords
        from detent.store.ledger.sources import Configured

        adding = await self._adding(name, found, given, tell, ask, changing=changing)
        pace.keep(self.store.pacing)
        prepared = await found.prepared(adding)
        refuse_passwords(found.name, prepared.change(adding.known))
        self._keyring.keep(name, prepared.secrets)
        written = await self.store.sources.reconfigure(name, found.name, prepared.change)
        await self._tell_workers(name, found.name, written)
        if adding.known is not None and adding.known != written:
            from detent.application.removing import tidy

            await tidy(self.store, Configured(name, found.name, adding.known))
        shown = shown_settings(Configured(name, found.name, written), self._keyring)
        return AddedSource(name, found.name, shown, prepared.notes, await self._told(name, prepared, written))

    async def _adding(
        self, name: str, found: SourceType, given: Settings, tell: Notify | None, ask: Ask | None, *, changing: bool
    ) -> Adding:
        """Check the given values of a source, and add its known ones. Raises an error if a value is missing."""
        from detent.sources import options
        from detent.sources.types import Adding

        checked = options.checked(found.name, found.options, given)
        kept = {each.name: each.settings for each in await self.store.sources.configured() if each.type == found.name}
        missing = [each.flag for each in found.options if each.required and each.name not in checked]
        if missing and not changing:
            raise InvalidSetting(f"A source of the type {found.name!r} needs {', '.join(missing)}.")
        if (language := checked.get("language")) is not None:
            await self.store.sources.require_language(language)
        return Adding(
            name,
            checked,
            kept.get(name),
            changing=changing,
            secrets=self._keyring.read(name, found.secrets) if found.secrets else {},
            others=[settings for other, settings in kept.items() if other != name],
            defaults=self._defaults(found.name),
            folder=self.project.folder / found.name if self.project else None,
            languages=frozenset(await self.store.sources.languages()),
            tell=lambda words: tell(scrubbed(words)) if tell is not None else None,
            ask=ask,
        )

    def _defaults(self, type_: str) -> Settings:
        """The values in the configuration's section of this type, if there is one."""
        section = getattr(self.settings, type_, None)
        return {each.name: getattr(section, each.name) for each in fields(section)} if is_dataclass(section) else {}

    async def _tell_workers(self, name: str, type_: str, settings: Settings) -> None:
        """Declare the source anew, so that workers heed its bounds. Where nobody has worked on it, a run does so."""
        from detent.sources.types import make
        from detent.worker.duty import declare

        if any(kind.source == name for kind in await self.store.kinds.select()):
            await declare(self.store, [make(name, type_, settings, self._keyring)])

    async def _told(self, name: str, prepared: Prepared, written: Settings) -> str:
        if prepared.told is None:
            return f"{name} is added. `detent run` loads it."
        lines = [line for line in await self.store.count_by_state() if line.source == name]
        return prepared.told(written, {(line.label, line.state): line.count for line in lines})

    @property
    def _keyring(self) -> Keyring:
        return Keyring(self.project.folder if self.project else None)


def shown_settings(source: Configured, keyring: Keyring) -> dict[str, Any]:
    """The settings of a source as they may be shown, with `***` for each secret that is set, as far as can be told."""
    from detent.sources import options

    try:
        asked = find_type(source.type).secrets
        secrets = list(keyring.read(source.name, asked)) if asked else []
    except (UnknownName, InvalidConfiguration, PluginBroken):
        secrets = []
    return {**options.shown(source.settings), **dict.fromkeys(secrets, _MASK)}


def find_type(name: str) -> SourceType:
    """The registered type of sources of this name."""
    from detent.sources.types import find

    return find(name)


def type_names() -> list[str]:
    """The names of the registered types of sources."""
    from detent.sources.types import names

    return list(names())


def list_types() -> list[ListedType]:
    """The installed types of sources, with their options. Those that cannot be imported are listed with the reason."""
    listed = []
    for name in type_names():
        try:
            found = find_type(name)
            listed.append(ListedType(name, found.summary, found.options))
        except PluginBroken as error:
            listed.append(ListedType(name, "", (), str(error)))
    return listed
