"""The wiki source, as it is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from typing import Any

from detent.errors import InvalidSource
from detent.knowledge import Bounds, NewItem
from detent.lifecycle import ARTICLE as LIFE_OF_AN_ARTICLE
from detent.lifecycle import PASSAGE as LIFE_OF_A_PASSAGE
from detent.sources.source import Function, Handler, Source
from detent.sources.wiki import manners, nodes
from detent.sources.wiki.client import TITLES_AT_ONCE
from detent.sources.wiki.dump import Dump
from detent.sources.wiki.fetched import FetchedPages
from detent.sources.wiki.handling import ARTICLES_IN, ByClient, ByDump
from detent.sources.wiki.nodes import ARTICLE, CATEGORY, PASSAGE, SECTION
from detent.sources.wiki.settings import WikiSettings
from detent.wikitext.site import ARTICLES

_CACHE = ".detent-cache"
_PAGES_AT_ONCE = 100
"""As many pages as stand together in a stream of a dump, which is unpacked as a whole."""
_BATCHES_AT_ONCE = 4
"""As many as are under way in one process: while some are fetched, others are parsed and written."""


def make(name: str, settings: Mapping[str, Any]) -> Source:
    """A wiki as a source: every title is an item that is fetched, and brings its sections with it."""
    given = WikiSettings.of(settings)
    lifecycles = {ARTICLE: LIFE_OF_AN_ARTICLE, **dict.fromkeys((SECTION, PASSAGE, CATEGORY), LIFE_OF_A_PASSAGE)}
    bounds = {ARTICLE: Bounds(given.depth if given.seeds else None, given.target, ARTICLES_IN, given.max_links)}
    versions = {ARTICLE: f"{nodes.VERSION} {given.passage_size}"}
    source = partial(Source, name, lifecycles, language=given.language, bounds=bounds, versions=versions)
    if given.dump is None:
        by_client = ByClient(given, user_agent(given.contact), fetched_of(given))
        handlers = [
            _handler(
                by_client.load,
                TITLES_AT_ONCE,
                concurrency=manners.batches_at_once(given, _BATCHES_AT_ONCE),
                time_limit_seconds=manners.time_limit_seconds(given),
            )
        ]
        return source(handlers, _seeds(given), close=by_client.close, refresh={ARTICLE: by_client.standing})
    dump = dump_of(given)
    by_dump = ByDump(given, dump)
    handlers = [_handler(by_dump.load, _PAGES_AT_ONCE, concurrency=1, computes=True)]
    discover = _seeds(given, dump) if given.seeds else _all_of(dump)
    return source(handlers, discover, refresh={ARTICLE: by_dump.standing})


def _handler(
    function: Function,
    batch_size: int,
    *,
    concurrency: int,
    computes: bool = False,
    time_limit_seconds: float | None = None,
) -> Handler:
    return Handler(
        "claimed",
        function,
        label=ARTICLE,
        batch=True,
        batch_size=batch_size,
        concurrency=concurrency,
        time_limit_seconds=time_limit_seconds,
        reads="links",
        computes=computes,
    )


def dump_of(given: WikiSettings) -> Dump:
    """The dump that is to be read."""
    if given.dump is None:
        raise InvalidSource("A wiki without a dump is asked over its API.")
    return Dump(given.dump, given.cache or given.dump.parent / _CACHE, given.index)


def fetched_of(given: WikiSettings) -> FetchedPages | None:
    """The pages that were fetched when seeds were checked, if there is a folder to keep them in."""
    return FetchedPages(given.cache, given.api) if given.cache is not None and given.api is not None else None


def tidy(dropped: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> None:
    """Remove what was made of a dump that is not read any more and is of no use to these other sources. Beside a dump,
    outside of a project, it is left: others may read it there. Pages that were fetched ahead are removed too."""
    given, left = WikiSettings.of(dropped), [WikiSettings.of(other) for other in others]
    if (fetched := fetched_of(given)) is not None and given.api not in [other.api for other in left]:
        fetched.forget()
    dumps = [dump_of(other) for other in left if other.dump is not None]
    if given.dump is not None and given.cache is not None:
        with suppress(OSError):  # it may all be made again, and takes only room
            dump_of(given).tidy(dumps)


def user_agent(contact: str | None) -> str:
    """The user agent that wikis require."""
    name = f"Detent/{version('detent')}"
    return f"{name} ({contact})" if contact else name


def _seeds(given: WikiSettings, dump: Dump | None = None) -> Callable[[], Iterator[NewItem]]:
    def discover() -> Iterator[NewItem]:
        if dump is not None:
            dump.site()  # if it is away, that is told here, once, and not only of each article that waits for it
        yield from (NewItem(seed, ARTICLE) for seed in given.seeds)

    return discover


def _all_of(dump: Dump) -> Callable[[], Iterator[NewItem]]:
    """All articles of a dump. They are loaded in its order, so that what is unpacked together is read together."""
    return lambda: (
        NewItem(each.title, ARTICLE, place // _PAGES_AT_ONCE)
        for place, each in enumerate(dump.titles())
        if each.namespace == ARTICLES
    )
