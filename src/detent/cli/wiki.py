"""`detent add wiki`: a wiki, and where to begin in it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, with_session
from detent.cli.output import counted
from detent.cli.session import Session
from detent.configuration.masking import masked
from detent.errors import DetentError

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.sources.wiki.seeding import Seeds, Wanted
    from detent.sources.wiki.settings import WikiSettings

_TYPE = "wiki"
_LANGUAGE = "en"
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_ANOTHER_NAME = "Choose another name."
_LOADED = "`detent run` loads them."
_REFRESHED = "`detent run --refresh` takes what is new in it, has changed, or is gone."
_NO_BEGINNING = "A wiki needs something to begin with: --seed, --seeds-file, --category or --search."


@click.command(cls=Command, short_help="Add a wiki: articles, and what they link to.")
@click.argument("name")
@click.option("--seed", "--add-seed", "seeds", multiple=True, metavar="TITLE", help="An article to begin with.")
@click.option(
    "--seeds-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of titles to begin with, one on each line; lines that begin with # are passed over.",
)
@click.option("--category", multiple=True, metavar="NAME", help="Begin with the articles of this category.")
@click.option("--search", multiple=True, metavar="WORDS", help="Begin with what the wiki's own search finds.")
@click.option("--depth", type=click.IntRange(min=0), help="How many links away from them to go.  [default: 2]")
@click.option("--target", type=click.IntRange(min=1), help="How many articles to load at most.")
@click.option("--max-links", type=click.IntRange(min=0), help="How many links of an article to follow.  [default: 200]")
@click.option("--api", metavar="URL", help="The wiki's api.php.  [default: the English Wikipedia's]")
@click.option("--lang", metavar="CODE", help="The Wikipedia in this language, such as de.")
@click.option("--dump", type=click.Path(exists=True, path_type=Path), help="A dump to read instead of asking the wiki.")
@click.option("--index", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The dump's index.")
@click.option("--contact", metavar="ADDRESS", help="Your e-mail address or page, which Wikimedia's wikis want to know.")
@click.option("--per-minute", type=click.FloatRange(min=0, min_open=True), help="How many requests a minute at most.")
@click.option("--language", metavar="NAME", help="The language of its texts for search.  [default: the wiki's]")
@with_session
def wiki(session: Session, *, name: str, **given: Any) -> None:
    """Add a MediaWiki as the source NAME: the seeds, what they link to, and so on, breadth first.

    Seeds are checked first. Called again with the same NAME, it adds seeds and changes what is said; a greater --depth
    or --target goes on with the same graph. With a dump and no seeds, all of it is taken.

    \b
    Examples:
      detent add wiki ml --seed "Machine learning" --seed "Deep learning" --depth 2 --target 5000
      detent add wiki ml --add-seed "Statistics" --depth 3
      detent add wiki berlin --lang de --category "Berlin" --depth 1
      detent add wiki intern --api https://wiki.example.org/w/api.php --seed "Main Page"
      detent add wiki all --dump enwiki-20260101-pages-articles-multistream.xml.bz2
    """
    session.with_new_store(lambda opened: _add(session, opened, name, given))


async def _add(session: Session, opened: Connected, name: str, given: Mapping[str, Any]) -> None:
    from detent.application.removing import tidy
    from detent.sources.wiki.settings import WikiSettings
    from detent.store.ledger.sources import Configured

    sources = opened.store.sources
    kept = {each.name: each.settings for each in await sources.configured() if each.type == _TYPE}
    settings = _settings(session, name, kept.get(name), given)
    wanted = _wanted(given)
    if not (wanted or settings.seeds or settings.dump):
        raise DetentError(_NO_BEGINNING)
    contact = _contact(session, settings, kept.values())
    if given["language"] is not None:
        await sources.require_language(given["language"])
    if given["dump"] is not None or given["index"] is not None:
        _look_at(settings)
        _require_same_wiki(name, kept.get(name, {}), settings)
    found = await _seeds(session, replace(settings, contact=contact), wanted, opened)
    for note in found.notes:
        session.say(note)
    if found.faults:
        raise DetentError("\n".join([*_first_of(found.faults), "Nothing was added."]))
    language = await _language(opened, found.language)

    def changed(before: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """What is said now, added to what others may have said while the wiki was asked."""
        settings = _settings(session, name, before, given)
        seeds = tuple(dict.fromkeys([*settings.seeds, *found.titles]))
        if not seeds and settings.dump is None:
            raise DetentError(_NO_BEGINNING)
        who, spoken = settings.contact or contact, settings.language or language
        return replace(settings, seeds=seeds, contact=who, language=spoken).as_data()

    written = WikiSettings.of(await sources.reconfigure(name, _TYPE, changed))
    await _tell_workers(opened, name, written)
    newer = name in kept and written.dump != WikiSettings.of(kept[name]).dump
    if newer:
        await tidy(opened.store, Configured(name, _TYPE, kept[name]))
    full = await _full(opened, name, written.target)
    how = _REFRESHED if newer else _LOADED if full is None else None
    session.say(" ".join(filter(None, (_told(name, written), full, how))))


async def _tell_workers(opened: Connected, name: str, settings: WikiSettings) -> None:
    """Let those who are at work on this wiki heed how far it is to go now. Where nobody has been, the next run will."""
    from detent.sources.types import make
    from detent.worker.duty import declare

    if any(kind.source == name for kind in await opened.store.kinds.select()):
        await declare(opened.store, [make(name, _TYPE, settings.as_data())])


async def _language(opened: Connected, code: str) -> str | None:
    """What search takes a wiki's texts for, if the server has rules for the language that they are in."""
    from detent.sources.wiki.languages import searched_as

    name = searched_as(code)
    return name if name in await opened.store.sources.languages() else None


async def _full(opened: Connected, name: str, target: int | None) -> str | None:
    """That nothing more is loaded, where as many articles are as were asked for."""
    from detent.sources.wiki.handling import ARTICLES_IN
    from detent.sources.wiki.nodes import ARTICLE

    counts = await opened.store.count_by_state()
    loaded = sum(line.count for line in counts if (line.source, line.label, line.state) == (name, ARTICLE, ARTICLES_IN))
    if target is None or loaded < target:
        return None
    are = "is" if loaded == 1 else "are"
    return f"{counted(loaded, 'article')} {are} loaded already: no other is until --target is raised."


def _settings(session: Session, name: str, kept: Mapping[str, Any] | None, given: Mapping[str, Any]) -> WikiSettings:
    """What the source is to do: what is said now, and what was said before of all else."""
    from detent.sources.wiki.settings import WikiSettings

    before = WikiSettings.of(kept) if kept is not None else WikiSettings()
    said = {key: given[key] for key in ("depth", "target", "max_links", "contact", "per_minute", "language")}
    settings = replace(before, **{key: value for key, value in said.items() if value is not None})
    if given["dump"] is not None or settings.dump is not None:
        settings = _of_dump(session, name, settings, given)
    elif given["index"] is not None:
        raise click.UsageError(f"--index is for a dump, and {name} is a wiki that is asked over its API.")
    else:
        settings = replace(settings, api=_api(before.api, given))
    if settings.depth < before.depth and kept is not None:
        raise DetentError(f"The depth is {before.depth} already, and can only become greater.")
    return settings


def _of_dump(session: Session, name: str, settings: WikiSettings, given: Mapping[str, Any]) -> WikiSettings:
    dump, index = (given[key].resolve() if given[key] is not None else None for key in ("dump", "index"))
    if settings.api is not None:
        raise DetentError(
            f"The source is the wiki {settings.address}, and cannot be the dump {dump} too. {_ANOTHER_NAME}"
        )
    seeds = given["seeds"] or given["seeds_file"]
    if settings.dump is not None and not settings.seeds and seeds:
        whole = f"{name} is all of the dump {settings.dump}"
        raise DetentError(f"{whole}, and with seeds it would be less. {_ANOTHER_NAME}")
    for option in ("api", "lang", "category", "search", "contact", "per_minute"):
        if given[option]:
            raise click.UsageError(
                f"{_flag(option)} is for a wiki that is asked over its API. {name} is read from a dump."
            )
    for option in ("depth", "max_links"):
        if given[option] is not None and not (settings.seeds or seeds):
            raise click.UsageError(f"{_flag(option)} is for a graph that begins with seeds. {name} is all of a dump.")
    if dump is None:
        return replace(settings, index=index or settings.index)
    return replace(settings, dump=dump, index=index, cache=_cache(session))


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _api(before: str | None, given: Mapping[str, Any]) -> str:
    from detent.sources.wiki.client import read_address
    from detent.sources.wiki.settings import WIKIPEDIA, is_same_wiki

    if given["api"] and given["lang"]:
        raise click.UsageError("--api and --lang do not go together: each names a wiki.")
    if given["lang"] is not None and not _CODE.fullmatch(given["lang"]):
        named = f"--lang takes the code of a language that has a Wikipedia, such as de or pt, and {given['lang']!r}"
        raise click.UsageError(f"{named} is none.")
    if given["api"] is not None:
        read_address(given["api"])
    wikipedia = WIKIPEDIA.format(language=given["lang"] or _LANGUAGE)
    api: str = given["api"] or (wikipedia if given["lang"] else before or wikipedia)
    if before is not None and not is_same_wiki(before, api):
        raise DetentError(f"The source is the wiki {masked(before)}, and cannot be {masked(api)} too. {_ANOTHER_NAME}")
    return api


def _contact(session: Session, settings: WikiSettings, others: Iterable[Mapping[str, Any]]) -> str | None:
    """Who asks: as is said, or was said of this wiki or another one. Where it is needed, a person is asked."""
    from detent.sources.wiki.settings import is_wikimedia

    if settings.contact or settings.dump is not None:
        return settings.contact
    known = next(filter(None, (each.get("contact") for each in others)), None)
    known = known or session.settings().wiki.contact
    return known or (_ask_for_contact(session) if is_wikimedia(settings.host) else None)


def _ask_for_contact(session: Session) -> str:
    """Wikimedia's wikis refuse those who do not say who they are."""
    if not (session.err.is_terminal and sys.stdin.isatty()):
        raise DetentError(
            "Wikimedia's wikis want to know who asks. Say it once, with --contact you@example.org or the address of a "
            "page, or as contact under [wiki] in detent.toml."
        )
    return str(click.prompt("Wikimedia's wikis want to know who asks. Your e-mail address, or a page about you"))


def _cache(session: Session) -> Path | None:
    project = session.found()
    return project.folder / "wiki" if project else None


def _wanted(given: Mapping[str, Any]) -> Wanted:
    from detent.sources.wiki.seeding import Wanted

    titles = [*given["seeds"], *(_lines(given["seeds_file"]) if given["seeds_file"] else [])]
    return Wanted(titles, given["category"], given["search"])


def _first_of(faults: Sequence[str]) -> Iterator[str]:
    from detent.sources.wiki.seeding import MOST_TOLD

    yield from faults[:MOST_TOLD]
    if len(faults) > MOST_TOLD:
        yield f"And {len(faults) - MOST_TOLD:,} more."


def _lines(file: Path) -> Sequence[str]:
    try:
        lines = [line.strip() for line in file.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DetentError(f"{file} cannot be read as text: {error}") from None
    titles = [line for line in lines if line and not line.startswith("#")]
    if not titles:
        raise DetentError(f"{file} names no seeds: it has no lines but empty ones and comments.")
    return titles


def _look_at(settings: WikiSettings) -> None:
    """Read the beginning of a dump, and of its index, so that what is none is told at once."""
    from detent.sources.wiki.source import dump_of

    dump = dump_of(settings)
    dump.site()
    next(dump.titles(), None)


def _require_same_wiki(name: str, before: Mapping[str, Any], settings: WikiSettings) -> None:
    """A newer dump is of the same wiki as the older one, if that is still there."""
    from detent.sources.wiki.dump import DumpUnreadable
    from detent.sources.wiki.settings import WikiSettings
    from detent.sources.wiki.source import dump_of

    older = WikiSettings.of(before)
    with suppress(DumpUnreadable):
        was = dump_of(older).database() if older.dump is not None else ""
        now = dump_of(settings).database()
        if was and now and was != now:
            raise DetentError(f"{name} is the wiki {was}, and {settings.dump} is a dump of {now}. {_ANOTHER_NAME}")


async def _seeds(session: Session, settings: WikiSettings, wanted: Wanted, opened: Connected) -> Seeds:
    from detent.cli.drawing import plain
    from detent.services import pace
    from detent.sources.wiki import seeding
    from detent.sources.wiki.manners import client_of
    from detent.sources.wiki.source import dump_of, user_agent

    if settings.dump is not None:
        return seeding.from_dump(dump_of(settings), wanted)
    if not wanted:
        return seeding.Seeds()
    pace.keep(opened.store.pacing)

    def tell(words: str) -> None:
        session.err.print(plain(words), soft_wrap=True)

    async with client_of(settings, user_agent(settings.contact), patient=True, tell=tell) as client:
        return await seeding.from_wiki(client, wanted)


def _told(name: str, settings: WikiSettings) -> str:
    where = settings.address or f"the dump {settings.dump}"
    target = f", {counted(settings.target, 'article')} at most" if settings.target else ""
    if not settings.seeds:
        return f"{name} is all of {where}{target}."
    articles, links = counted(len(settings.seeds), "article"), counted(settings.depth, "link")
    return f"{name} begins with {articles} of {where}, and goes {links} far{target}."
