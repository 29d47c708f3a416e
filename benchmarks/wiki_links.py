"""What it costs to write articles with 200 links each, among few known titles and among a million.

Articles are claimed and parsed before the clock starts. What counts is what settling takes: the article, its sections,
its links, and the titles that nobody has known before. Of titles that articles of one batch have in common, each is
looked up once; among few known titles, those are most. Rounds alternate between the numbers of titles, and of each the
median counts, since a machine is not equally fast from one minute to the next.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import psycopg

from benchmarks import postgres, wiki_crew, wiki_pages
from benchmarks.figures import Figure, at_most
from benchmarks.taken import Taken
from benchmarks.wiki_crew import NAME, Meet
from detent.knowledge import Item, NewItem, Outcome
from detent.lifecycle import ARTICLE as LIFE_OF_AN_ARTICLE
from detent.sources.wiki.handling import Articles
from detent.sources.wiki.nodes import ARTICLE
from detent.sources.wiki.pages import Page
from detent.sources.wiki.settings import WikiSettings
from detent.sources.wiki.source import make
from detent.store import Stage, Store
from detent.wikitext.site import Site
from detent.worker.duty import declare
from detent.worker.interpreter import prepare_for_work

KNOWN = (1_000, 100_000, 1_000_000)
ROUNDS = 3
WARMING, SETTLED = 100, 500
"""How many articles are settled in each round before the clock starts, and while it runs."""
BATCH = 50
LINKS, NEW = 200, 10
"""Links of each article, and how many of them lead to titles that are not known."""
FLAT = 1.3
WIKI = WikiSettings(api="http://127.0.0.1:9/w/api.php", seeds=("Seed",), depth=9)

Tell = Callable[[str], None]

_DISCOVERED = Stage(LIFE_OF_AN_ARTICLE, "discovered")


@dataclass(frozen=True)
class Cost:
    """What an article costs among so many known titles, in milliseconds."""

    known: int
    wall: float
    processor: float
    server: float

    @property
    def all_processors(self) -> float:
        return self.processor + self.server


def measure(server: str, tell: Tell) -> list[Figure]:
    costs: dict[int, list[Cost]] = {known: [] for known in KNOWN}
    with ExitStack() as open_databases:
        databases = {
            known: open_databases.enter_context(postgres.empty_database(server, f"{postgres.DATABASE}_{known}"))
            for known in KNOWN
        }
        for known, conninfo in databases.items():
            tell(f"{known:,} known titles are written down")
            asyncio.run(_fill(conninfo, known))
        for number in range(1, ROUNDS + 1):
            for known, conninfo in databases.items():
                tell(f"{SETTLED:,} articles with {LINKS} links each among {known:,} titles, round {number} of {ROUNDS}")
                costs[known].append(_cost(conninfo, known))
    return list(_figures([_median(each) for each in costs.values()]))


def _cost(conninfo: str, known: int) -> Cost:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # the server would do it by itself, at whatever moment
    full, empty = (wiki_crew.in_processes(conninfo, _settle, known, number) for number in (SETTLED, 0))
    taken = Taken(full.seconds - empty.seconds, full.processor - empty.processor, full.server - empty.server)
    return Cost(known, *(each / SETTLED * 1e3 for each in (taken.seconds, taken.processor, taken.server)))


def _median(rounds: Sequence[Cost]) -> Cost:
    return Cost(
        rounds[0].known,
        median(each.wall for each in rounds),
        median(each.processor for each in rounds),
        median(each.server for each in rounds),
    )


async def _fill(conninfo: str, known: int) -> None:
    """Titles that are known: those that are to be settled, and those found so far, one link further away."""
    async with Store(conninfo) as store:
        await declare(store, [make(NAME, WIKI.as_data())])
        await store.add(
            NAME, ARTICLE, [NewItem(f"Settled {number}", ARTICLE, 1) for number in range(ROUNDS * (WARMING + SETTLED))]
        )
        for start in range(0, known, 10_000):
            places = range(start, min(start + 10_000, known))
            await store.add(NAME, ARTICLE, [NewItem(_title(place, known), ARTICLE, 2) for place in places])
        await store.tallies.fold()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def _title(place: int, known: int) -> str:
    """A title that is known. They are as long however many there are."""
    return wiki_pages.title(place * (KNOWN[-1] // known))


def _settle(conninfo: str, known: int, number: int, meet: Meet) -> None:
    """In a process: settle so many articles, and some before."""

    async def settling() -> None:
        prepare_for_work()
        async with Store(conninfo) as store:
            kinds = await declare(store, [make(NAME, WIKI.as_data())])
            articles = [kinds[NAME, ARTICLE]]
            batches = []
            for _ in range(0, WARMING + number if number else 0, BATCH):
                claimed = await store.claim(_DISCOVERED, owner="benchmark", limit=BATCH, kinds=articles)
                batches.append(_outcomes(claimed, known))
            for batch in batches[: WARMING // BATCH]:
                await store.settle(batch)
            meet()
            for batch in batches[WARMING // BATCH :]:
                await store.settle(batch)
                await store.tallies.fold()

    asyncio.run(settling())


def _outcomes(items: Sequence[Item], known: int) -> list[tuple[Item, Outcome]]:
    articles, site = Articles(WIKI), Site()
    return [(item, articles.outcome(item, _page(item, known), site)) for item in items]


def _page(item: Item, known: int) -> Page:
    """An article in a lead and five sections, with its links spread over all of them."""
    chance = random.Random(item.key)
    titles = [_title(place, known) for place in chance.sample(range(known), LINKS - NEW)]
    titles += [f"{item.key} leads to {place}" for place in range(NEW)]
    chance.shuffle(titles)
    sentences = [f"It is near [[{title}]], which is another one of the same kind." for title in titles]
    sections = [" ".join(sentences[start::6]) for start in range(6)]
    text = "".join(f"\n\n== Part {place} ==\n{section}" for place, section in enumerate(sections))
    return Page(item.key, item.id, item.id, text, len(text), "2026-01-01T00:00:00Z")


def _figures(costs: Sequence[Cost]) -> Iterator[Figure]:
    for cost in costs:
        name = f"links, {cost.known:,} known titles"
        yield Figure(f"{name}: an article", cost.wall, "ms")
        yield Figure(f"{name}: an article, processor", cost.processor, "ms")
        yield Figure(f"{name}: an article, processor of the server", cost.server, "ms")
    least, *_, middle, most = costs
    again = most.all_processors / middle.all_processors
    yield Figure(f"links, {most.known:,} ÷ {middle.known:,} known titles: processor of an article", again, "times")
    ratio = f"links, {most.known:,} ÷ {least.known:,} known titles"
    yield at_most(FLAT, f"{ratio}: cost of an article", most.wall / least.wall, "times")
    yield at_most(FLAT, f"{ratio}: processor of an article", most.all_processors / least.all_processors, "times")
