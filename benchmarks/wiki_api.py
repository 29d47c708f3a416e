"""A graph grown from one article over the API of a wiki, beside a bare loop of httpx that sends the very same requests.

The wiki is a process of its own that answers from memory, at once or after the time that a real one takes. Detent and
the loop have the same number of requests under way. What a run takes that has nothing to do is taken off, for both.
Neither embeds anything; with embedding, Detent is measured once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks import postgres, wiki_crew, wiki_pages, wiki_server
from benchmarks.figures import Figure, at_least, at_most
from benchmarks.taken import Taken
from benchmarks.wiki_crew import Job
from benchmarks.wiki_server import Contents
from detent.sources.wiki.settings import WikiSettings

DELAY_SECONDS = 0.3
"""How long a wiki takes to answer. Wikimedia's allow 200 requests a minute, which is one in so many seconds."""
LOOPS = 3
"""How often the loop runs, which does not take long; the median counts."""
TITLES_PER_REQUEST = 20
SHARE = 0.8
FAR = 1_000

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Scene:
    """A wiki, and how many requests to it are under way at the same time: two are what users get."""

    name: str
    contents: Contents
    at_once: int = 2

    @property
    def embedded(self) -> bool:
        """Whether it is measured with embedding too."""
        return self.at_once == 2 and not self.contents.delay_seconds


REAL, LARGE = Contents(2_000), Contents(1_000, 20_000)
SCENES = [
    Scene("articles as they are, one request at once", REAL, 1),
    Scene("articles as they are, two requests at once", REAL),
    Scene("articles as they are, a wiki that takes 0.3 s", Contents(2_000, 0, DELAY_SECONDS)),
    Scene("articles of 20 kB, one request at once", LARGE, 1),
    Scene("articles of 20 kB, two requests at once", LARGE),
    Scene("articles of 20 kB, a wiki that takes 0.3 s", Contents(1_000, 20_000, DELAY_SECONDS)),
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
    wiki = WikiSettings(api=f"{address}/w/api.php", seeds=seeds, depth=FAR, contact="benchmark@example.org")
    flags: dict[str, object] = {"worker.concurrency": scene.at_once} if scene.at_once == 1 else {}
    job = Job(wiki, embedding, flags)
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
            wiki_crew.in_processes(server, wiki_server.ask_again, address, some, scene.at_once)
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
