"""A graph grown from one article over the API of a wiki, beside a bare loop of httpx that sends the very same requests.

The wiki is a process of its own that answers from memory, at once or after the time that a real one takes. Detent and
the loop have the same number of requests under way, and keep to the same pace. What a run takes that has nothing to do
is taken off, for both. Neither embeds anything; with embedding, Detent is measured once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks import postgres, wiki_crew, wiki_pages, wiki_server
from benchmarks.figures import Figure, at_least, at_most
from benchmarks.taken import Taken
from benchmarks.wiki_crew import Job
from benchmarks.wiki_server import Contents, Manner
from detent.sources.wiki.settings import WikiSettings

DELAY_SECONDS = 0.3
"""How long a wiki takes to answer."""
PER_MINUTE = 200
"""Requests that Wikimedia's wikis allow to those whom they do not know."""
AT_ONCE = 2
"""Requests that are under way at the same time."""
LOOPS = 3
"""How often the loop runs, which does not take long; the median counts."""
TITLES_PER_REQUEST = 20
SHARE = 0.8
FAR = 1_000

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Scene:
    """A wiki, and how often it may be asked in a minute; None for any number."""

    name: str
    contents: Contents
    per_minute: int | None = None

    @property
    def embedded(self) -> bool:
        """Whether it is measured with embedding too."""
        return not self.contents.delay_seconds


SCENES = [
    Scene(f"{name}, {how}", Contents(articles, least_bytes, delay), per_minute)
    for name, articles, least_bytes in (("articles as they are", 4_000, 0), ("articles of 20 kB", 2_000, 20_000))
    for how, delay, per_minute in (
        ("a wiki that answers at once", 0.0, None),
        ("a wiki that takes 0.3 s", DELAY_SECONDS, None),
        ("a wiki that takes 0.3 s, at Wikimedia's pace", DELAY_SECONDS, PER_MINUTE),
    )
]


@dataclass(frozen=True)
class Grown:
    """What it took to grow a graph, and what the loop took for the same requests."""

    scene: Scene
    requests: int
    ours: Taken
    bare: float
    embedded: float | None = None

    @property
    def share(self) -> float:
        return self.bare / self.ours.seconds


def measure(server: str, tell: Tell) -> list[Figure]:
    return [figure for scene in SCENES for figure in _figures(_grow(server, scene, tell))]


def _grow(server: str, scene: Scene, tell: Tell) -> Grown:
    with wiki_server.serving(scene.contents) as address:
        tell(f"over the API, {scene.contents.articles:,} articles: {scene.name}")
        ours = _ours(server, scene, address, embedding=False)
        targets = wiki_server.asked(address)
        bare = _bare(server, scene, address, targets)
        embedded = _ours(server, scene, address, embedding=True).seconds if scene.embedded else None
    return Grown(scene, len(targets), ours, bare, embedded)


def _ours(server: str, scene: Scene, address: str, *, embedding: bool) -> Taken:
    """What Detent takes beyond what it takes when all is done: the same worker again finds nothing to do."""
    seeds = (wiki_pages.title(0),)
    wiki = WikiSettings(api=f"{address}/w/api.php", seeds=seeds, depth=FAR, per_minute=scene.per_minute)
    job = Job(wiki, embedding)
    with postgres.empty_database(server) as conninfo:
        wiki_crew.in_processes(conninfo, wiki_crew.find, job)
        full = wiki_crew.in_processes(conninfo, wiki_crew.work, job)
        empty = wiki_crew.in_processes(conninfo, wiki_crew.work, job)
        loaded = wiki_crew.counts(conninfo)
    if loaded["processed"] != scene.contents.articles:
        raise RuntimeError(f"There are {scene.contents.articles:,} articles, and Detent has {loaded}.")
    return Taken(full.seconds - empty.seconds, full.processor - empty.processor, full.server - empty.server)


def _bare(server: str, scene: Scene, address: str, targets: Sequence[str]) -> float:
    """Seconds that the loop takes for these requests."""
    times = []
    for _ in range(1 if scene.contents.delay_seconds else LOOPS):
        full, empty = (
            wiki_crew.in_processes(server, wiki_server.ask_again, address, some, Manner(AT_ONCE, scene.per_minute))
            for some in (targets, targets[:0])
        )
        times.append(full.seconds - empty.seconds)
    wiki_server.asked(address)
    return median(times)


def _figures(grown: Grown) -> Iterator[Figure]:
    name, articles = f"API, {grown.scene.name}", grown.scene.contents.articles
    loop = f"bare loop {articles / grown.bare:,.0f} articles/s"
    yield at_most(1 / TITLES_PER_REQUEST, f"{name}: requests per article", grown.requests / articles, "requests")
    yield Figure(name, articles / grown.ours.seconds, "articles/s", peer=loop)
    yield Figure(f"{name}: processor per article", grown.ours.processor / articles * 1e3, "ms")
    yield Figure(f"{name}: processor of the server per article", grown.ours.server / articles * 1e3, "ms")
    yield at_least(SHARE, f"{name}: Detent ÷ the bare loop", grown.share, "times", peer=loop)
    if grown.embedded is not None:
        yield Figure(f"{name}: with embedding", articles / grown.embedded, "articles/s")
