"""All of a dump made searchable, up to the index of texts: by one process, by two, and what its handler takes alone.

The server works on the same processors. One process and the server keep more than one of them busy, so that a second
process cannot have a second one to itself; how it scales over processors is told by one process and the server on a
single one beside two processes on two.

The dump is the one that BENCH_DUMP names, or one that is made here, as a multistream with its index.
"""

from __future__ import annotations

import bz2
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from benchmarks import figures, postgres, wiki_crew, wiki_pages
from benchmarks.figures import Figure, at_least
from benchmarks.taken import Taken, middle
from benchmarks.wiki_crew import Job
from benchmarks.wiki_pages import Written
from detent.knowledge import Item
from detent.sources.wiki.dump import Dump, unpacking
from detent.sources.wiki.handling import ByDump
from detent.sources.wiki.nodes import ARTICLE
from detent.sources.wiki.settings import WikiSettings
from detent.wikitext.site import ARTICLES, CANONICAL

MOST_ARTICLES, MOST_BYTES = 20_000, 100_000_000
"""How large a dump is made: whichever is reached first."""
ARTICLES_PER_REDIRECT = 50
"""About as many as in the wikis that the articles are from. In large wikis there are more redirects than articles."""
PER_STREAM = 100
ROUNDS = 2
SCALING = 1.6
ALONE_ARTICLES = 4_000
"""How many articles the handler is given without a database."""

Tell = Callable[[str], None]

_BATCH = 50
_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Benchmark</sitename>
    <dbname>benchwiki</dbname>
    <case>first-letter</case>
    <namespaces>
{namespaces}
    </namespaces>
  </siteinfo>
"""
_PAGE = """  <page>
    <title>{title}</title>
    <ns>0</ns>
    <id>{number}</id>{redirect}
    <revision>
      <id>{revision}</id>
      <timestamp>2026-01-01T00:00:00Z</timestamp>
      <contributor>
        <username>Benchmark</username>
        <id>1</id>
      </contributor>
      <origin>{revision}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""
_TAIL = "</mediawiki>\n"


class Way(NamedTuple):
    """In how many processes the dump is taken, and on how many processors, None for all."""

    processes: int
    processors: int | None = None

    def __str__(self) -> str:
        on = f", processors: {self.processors}" if self.processors else ""
        return f"processes: {self.processes}{on}"


ONE, TWO, ON_ONE, ON_TWO = Way(1), Way(2), Way(1, 1), Way(2, 2)


@dataclass(frozen=True)
class Ingested:
    """What it took to make all of a dump searchable: to name its articles, and to load them; and how many that were."""

    finding: Taken
    loading: Taken
    articles: int

    @property
    def seconds(self) -> float:
        return self.finding.seconds + self.loading.seconds

    @property
    def processor(self) -> float:
        """Of the processes and of the server."""
        return sum(taken.processor + taken.server for taken in (self.finding, self.loading))


def measure(server: str, tell: Tell) -> list[Figure]:
    tell("making ready a dump")
    with _dump() as path:
        megabytes = _unpacked(path) / 1e6
        tell(f"the handler alone, without a database, {min(ALONE_ARTICLES, MOST_ARTICLES):,} articles")
        alone = _alone(path)
        ways = _ways()
        found: dict[Way, list[Ingested]] = {way: [] for way in ways}
        for number in range(ROUNDS):
            for way in ways if number % 2 == 0 else reversed(ways):
                tell(f"all of a dump of {megabytes:.0f} MB, round {number + 1} of {ROUNDS}, {way}")
                found[way].append(_ingest(server, path, way))
    return list(_figures(megabytes, alone, {way: _middle(runs) for way, runs in found.items()}))


def _ways() -> list[Way]:
    """Where there are two processors, two processes on two are two on all."""
    here = len(os.sched_getaffinity(0))
    return [ONE, TWO, ON_ONE] if here <= ON_TWO.processes else [ONE, TWO, ON_ONE, ON_TWO]


def _ingest(server: str, path: Path, way: Way) -> Ingested:
    with postgres.empty_database(server) as conninfo, tempfile.TemporaryDirectory(dir=figures.FOLDER) as cache:
        job = Job(WikiSettings(dump=path, cache=Path(cache)))
        with wiki_crew.on_processors(server, way.processors):
            finding = wiki_crew.in_processes(conninfo, wiki_crew.find, job)
            loading = wiki_crew.in_processes(conninfo, wiki_crew.work, job, processes=way.processes)
        counts = wiki_crew.counts(conninfo)
    if unfinished := {state for state in counts if state not in ("processed", "loaded", "failed")}:
        raise RuntimeError(f"Not everything is finished: some articles are still {', '.join(unfinished)}.")
    return Ingested(finding, loading, counts["processed"])


def _alone(path: Path) -> float:
    """Seconds of the processor per article for what a handler does: find it in the dump, parse it and make nodes."""
    with tempfile.TemporaryDirectory(dir=figures.FOLDER) as cache:
        dump = Dump(path, Path(cache))
        handler = ByDump(WikiSettings(dump=path), dump)
        titles = [each.title for each in dump.titles() if each.namespace == ARTICLES][:ALONE_ARTICLES]
        handler.load(_items(titles[:1]))
        began = time.process_time()
        for start in range(0, len(titles), _BATCH):
            handler.load(_items(titles[start : start + _BATCH]))
        return (time.process_time() - began) / len(titles)


def _items(titles: Sequence[str]) -> list[Item]:
    return [Item(n, "wiki", ARTICLE, title, "article", "claimed", 1, 1) for n, title in enumerate(titles)]


def _middle(runs: Sequence[Ingested]) -> Ingested:
    finding, loading = middle([run.finding for run in runs]), middle([run.loading for run in runs])
    return Ingested(finding, loading, runs[0].articles)


def _figures(megabytes: float, alone: float, found: dict[Way, Ingested]) -> Iterator[Figure]:
    one, two, on_one = found[ONE], found[TWO], found[ON_ONE]
    on_two = found.get(ON_TWO, two)
    yield Figure("dump: articles", one.articles, "articles")
    yield Figure("dump: unpacked", megabytes, "MB")
    yield Figure("dump: naming all articles", one.finding.seconds, "s")
    for way, run in found.items():
        name = f"dump, {way}"
        yield Figure(name, megabytes / run.seconds, "MB/s")
        yield Figure(name, run.articles / run.seconds, "articles/s")
        yield Figure(f"{name}: processors kept busy", run.processor / run.seconds, "processors")
        yield Figure(f"{name}: per second of a processor", megabytes / run.processor, "MB")
        yield Figure(f"{name}: per second of a processor", run.articles / run.processor, "articles")
        yield Figure(f"{name}: processor per article", run.loading.processor / run.articles * 1e3, "ms")
        yield Figure(f"{name}: processor of the server per article", run.loading.server / run.articles * 1e3, "ms")
    yield Figure("dump: the handler alone, processor per article", alone * 1e3, "ms")
    scaling = "dump: two processes on two processors ÷ one on one"
    yield at_least(SCALING, scaling, on_one.seconds / on_two.seconds, "times")
    # No goal: where there are two processors, one process and the server it works with keep most of both busy.
    yield Figure("dump: two processes ÷ one, on all processors", one.seconds / two.seconds, "times")


@contextmanager
def _dump() -> Iterator[Path]:
    given = os.environ.get("BENCH_DUMP")
    if given:
        yield Path(given).absolute()
        return
    figures.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=figures.FOLDER) as folder:
        articles = wiki_pages.many(wiki_pages.articles(), MOST_ARTICLES, MOST_BYTES)
        pages = wiki_pages.with_redirects(list(articles), ARTICLES_PER_REDIRECT)
        yield _write(Path(folder).absolute() / "benchwiki-20260101-pages-articles-multistream.xml.bz2", pages)


def _write(path: Path, articles: Sequence[Written]) -> Path:
    """A multistream, with its index beside it."""
    spaces = (f'      <namespace key="{key}" case="first-letter">{name}</namespace>' for key, name in CANONICAL.items())
    head = _HEAD.format(namespaces="\n".join(spaces))
    lines: list[str] = []
    with path.open("wb") as file:
        file.write(bz2.compress(head.encode()))
        for start in range(0, len(articles), PER_STREAM):
            together = list(enumerate(articles[start : start + PER_STREAM], start + 1))
            lines += (f"{file.tell()}:{number}:{escape(article.title)}\n" for number, article in together)
            file.write(bz2.compress("".join(_page(number, article) for number, article in together).encode()))
        file.write(bz2.compress(_TAIL.encode()))
    index = path.with_name(path.name.replace(".xml", "-index.txt"))
    index.write_bytes(bz2.compress("".join(lines).encode()))
    return path


def _page(number: int, article: Written) -> str:
    return _PAGE.format(
        title=escape(article.title),
        number=number,
        redirect=f"\n    <redirect title={quoteattr(article.redirect)} />" if article.redirect else "",
        revision=number + 1_000_000,
        size=len(article.text.encode()),
        text=escape(article.text),
    )


def _unpacked(path: Path) -> int:
    """How many bytes a dump has when it is unpacked."""
    return sum(len(piece) for piece in unpacking.pieces(path))
