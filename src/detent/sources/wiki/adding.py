"""Adding a wiki: what is said is put beside what is known, and seeds are checked before anything is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from detent.configuration.masking import masked
from detent.errors import DetentError, InvalidSetting
from detent.sources.types import Adding, Counts, Prepared
from detent.sources.wiki import seeding
from detent.sources.wiki.client import read_address
from detent.sources.wiki.dump import DumpUnreadable
from detent.sources.wiki.fetched import FetchedPages
from detent.sources.wiki.handling import ARTICLES_IN
from detent.sources.wiki.languages import searched_as
from detent.sources.wiki.manners import client_of
from detent.sources.wiki.nodes import ARTICLE
from detent.sources.wiki.seeding import MOST_TOLD, Seeds, Wanted
from detent.sources.wiki.settings import WIKIPEDIA, WikiSettings, is_same_wiki, is_wikimedia, without_password
from detent.sources.wiki.source import dump_of, fetched_of, user_agent

_LANGUAGE = "en"
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_ANOTHER_NAME = "Choose another name."
_LOADED = "`detent run` loads them."
_REFRESHED = "`detent run --refresh` takes what is new in it, has changed, or is gone."
_NO_BEGINNING = "A wiki needs something to begin with: --seed, --seeds-file, --category or --search."
_PLAIN = ("depth", "target", "max_links", "contact", "per_minute", "language")
_CONTACT = "Wikimedia's wikis want to know who asks."


async def prepare(adding: Adding) -> Prepared:
    """Check the wiki or dump, and the seeds in it."""
    said = _Said(adding)
    settings, wanted = said.settings(adding.known), _wanted(adding.given)
    if not (wanted or settings.seeds or settings.dump):
        raise DetentError(_NO_BEGINNING)
    contact = _contact(adding, settings)
    before = WikiSettings.of(adding.known or {})
    if "dump" in adding.given or "index" in adding.given:
        _look_at(settings)
        _require_same_wiki(adding.name, before, settings)
    found = await _seeds(adding, replace(settings, contact=contact, password=said.password), wanted)
    if found.faults:
        raise DetentError("\n".join([*found.notes, *_first_of(found.faults), "Nothing was added."]))
    language = name if (name := searched_as(found.language)) in adding.languages else None

    def change(known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Merge the given values into the stored settings, which may have changed during the check of the wiki."""
        now = said.settings(known)
        seeds = tuple(dict.fromkeys([*now.seeds, *found.titles]))
        if not seeds and now.dump is None:
            raise DetentError(_NO_BEGINNING)
        who, spoken = now.contact or contact, now.language or language
        return replace(now, seeds=seeds, contact=who, language=spoken).as_data()

    def told(kept: Mapping[str, Any], counts: Counts) -> str:
        now = WikiSettings.of(kept)
        full = _full(now.target, counts.get((ARTICLE, ARTICLES_IN), 0))
        newer = adding.known is not None and now.dump != before.dump
        how = _REFRESHED if newer else _LOADED if full is None else None
        return " ".join(filter(None, (_told(adding.name, now), full, how)))

    secrets = {"password": said.told_password} if said.told_password else {}
    return Prepared(change, found.notes, secrets, told)


@dataclass(frozen=True)
class _Said:
    """The given values of a wiki."""

    adding: Adding

    @property
    def told_password(self) -> str | None:
        """The password that is said now, by itself or in the address."""
        given = self.adding.given
        return given.get("password") or without_password(given.get("api", ""))[1]

    @property
    def password(self) -> str | None:
        return self.told_password or self.adding.secrets.get("password")

    def settings(self, known: Mapping[str, Any] | None) -> WikiSettings:
        """The settings of the source: the given values, and the stored ones for the rest."""
        given = self.adding.given
        before = WikiSettings.of(known) if known is not None else WikiSettings()
        settings = replace(before, **{key: given[key] for key in _PLAIN if key in given})
        if "dump" in given or settings.dump is not None:
            settings = self._of_dump(settings)
        elif "index" in given:
            raise InvalidSetting(f"--index is for a dump, and {self.adding.name} is a wiki that is asked over its API.")
        else:
            settings = replace(settings, api=self._api(before.api), cache=self.adding.folder or before.cache)
        if settings.depth < before.depth and known is not None:
            raise DetentError(f"The depth is {before.depth} already, and can only become greater.")
        return settings

    def _of_dump(self, settings: WikiSettings) -> WikiSettings:
        given, name = self.adding.given, self.adding.name
        dump, index = (given[key].resolve() if key in given else None for key in ("dump", "index"))
        if settings.api is not None:
            raise DetentError(
                f"The source is the wiki {settings.address}, and cannot be the dump {dump} too. {_ANOTHER_NAME}"
            )
        seeds = given.get("seeds") or given.get("seeds_file")
        if settings.dump is not None and not settings.seeds and seeds:
            whole = f"{name} is all of the dump {settings.dump}"
            raise DetentError(f"{whole}, and with seeds it would be less. {_ANOTHER_NAME}")
        for option in ("api", "lang", "category", "search", "contact", "per_minute", "password"):
            if given.get(option):
                for_asked = f"{_flag(option)} is for a wiki that is asked over its API."
                raise InvalidSetting(f"{for_asked} {name} is read from a dump.")
        for option in ("depth", "max_links"):
            if option in given and not (settings.seeds or seeds):
                raise InvalidSetting(f"{_flag(option)} is for a graph that begins with seeds. {name} is all of a dump.")
        if dump is None:
            return replace(settings, index=index or settings.index)
        return replace(settings, dump=dump, index=index, cache=self.adding.folder)

    def _api(self, before: str | None) -> str:
        given = self.adding.given
        if "api" in given and "lang" in given:
            raise InvalidSetting("--api and --lang do not go together: each names a wiki.")
        if "lang" in given and not _CODE.fullmatch(given["lang"]):
            named = f"--lang takes the code of a language that has a Wikipedia, such as de or pt, and {given['lang']!r}"
            raise InvalidSetting(f"{named} is none.")
        wikipedia = WIKIPEDIA.format(language=given.get("lang") or _LANGUAGE)
        if "api" not in given:
            api = wikipedia if "lang" in given or before is None else before
        else:
            read_address(given["api"])
            api = without_password(given["api"])[0]
        if before is not None and not is_same_wiki(before, api):
            raise DetentError(
                f"The source is the wiki {masked(before)}, and cannot be {masked(api)} too. {_ANOTHER_NAME}"
            )
        return api


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _contact(adding: Adding, settings: WikiSettings) -> str | None:
    """The contact: the given one, or that of this wiki or another one. If it is required, a person is asked."""
    if settings.contact or settings.dump is not None:
        return settings.contact
    known = next(filter(None, (each.get("contact") for each in (*adding.others, adding.defaults))), None)
    if known or not is_wikimedia(settings.host):
        return known
    if adding.ask is not None:
        return adding.ask(f"{_CONTACT} Your e-mail address, or a page about you")
    raise DetentError(
        f"{_CONTACT} Say it once, with --contact you@example.org or the address of a page, or as contact under [wiki] "
        "in detent.toml."
    )


def _wanted(given: Mapping[str, Any]) -> Wanted:
    titles = [*given.get("seeds", ()), *(_lines(given["seeds_file"]) if "seeds_file" in given else [])]
    return Wanted(titles, given.get("category", ()), given.get("search", ()))


def _lines(file: Path) -> Sequence[str]:
    try:
        lines = [line.strip() for line in file.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DetentError(f"{file} cannot be read as text: {error}") from None
    titles = [line for line in lines if line and not line.startswith("#")]
    if not titles:
        raise DetentError(f"{file} names no seeds: it has no lines but empty ones and comments.")
    return titles


def _first_of(faults: Sequence[str]) -> Iterator[str]:
    yield from faults[:MOST_TOLD]
    if len(faults) > MOST_TOLD:
        yield f"And {len(faults) - MOST_TOLD:,} more."


def _look_at(settings: WikiSettings) -> None:
    """Read the beginning of a dump, and of its index, so that what is none is told at once."""
    dump = dump_of(settings)
    dump.site()
    next(dump.titles(), None)


def _require_same_wiki(name: str, older: WikiSettings, settings: WikiSettings) -> None:
    """A newer dump is of the same wiki as the older one, if that is still there."""
    with suppress(DumpUnreadable):
        was = dump_of(older).database() if older.dump is not None else ""
        now = dump_of(settings).database()
        if was and now and was != now:
            raise DetentError(f"{name} is the wiki {was}, and {settings.dump} is a dump of {now}. {_ANOTHER_NAME}")


async def _seeds(adding: Adding, settings: WikiSettings, wanted: Wanted) -> Seeds:
    if settings.dump is not None:
        return seeding.from_dump(dump_of(settings), wanted)
    if not wanted:
        return Seeds()
    fetched: FetchedPages | None = fetched_of(settings)
    async with client_of(settings, user_agent(settings.contact), patient=True, tell=adding.tell) as client:
        return await seeding.from_wiki(client, wanted, fetched.keep if fetched else None)


def _full(target: int | None, loaded: int) -> str | None:
    """That nothing more is loaded, where as many articles are as were asked for."""
    if target is None or loaded < target:
        return None
    are = "is" if loaded == 1 else "are"
    return f"{_counted(loaded, 'article')} {are} loaded already: no other is until --target is raised."


def _told(name: str, settings: WikiSettings) -> str:
    where = settings.address or f"the dump {settings.dump}"
    target = f", {_counted(settings.target, 'article')} at most" if settings.target else ""
    if not settings.seeds:
        return f"{name} is all of {where}{target}."
    articles, links = _counted(len(settings.seeds), "article"), _counted(settings.depth, "link")
    return f"{name} begins with {articles} of {where}, and goes {links} far{target}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
