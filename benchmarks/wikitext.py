"""Wikitext read beside mwparserfromhell: how fast, and whether the same links and headings are found.

The pages are those of dumps, in the folder that BENCH_WIKITEXT names, else in `mediawiki/dumps` of DETENT_SAMPLES. One
process reads them, from the text of a page to its sections, links and categories; what counts is the time of the
processor. Links are compared by the titles that the wiki makes of them, in their order, without files and categories;
headings by level and plain title. Where the two differ on real pages, it is for one of these reasons:

- What stands in `<includeonly>` is a part of the pages that include a template, and none of the template's own page, so
  Detent leaves it out. mwparserfromhell reads it. Nearly all pages that differ are templates with that.
- A title may be given by a parameter with a default, as in `[[{{{1|Rhine}}}]]`. Detent takes the default, as the wiki
  does; mwparserfromhell tells the title as it is written, which is none.
- A heading within the argument of a template or in a reference is none of the page, and makes no section of it.
  mwparserfromhell lists it among the others.
- A line such as `= a = b` is no heading, as more follows. mwparserfromhell takes the rest for text after a heading.
- A title may have `<` in its fragment, as in `[[Maps#<map>]]`. mwparserfromhell takes it for a tag, and finds no link.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders import REPOSITORY
from benchmarks.figures import Figure, at_least
from benchmarks.peers import environment
from detent.sources.wiki.dump import Dump
from detent.wikitext import parse
from detent.wikitext.site import ARTICLES, CATEGORIES, FILES, Site

MOST_BYTES = 30_000_000
"""How much wikitext is read of each folder, as peers take their time."""
ROUNDS = 3
TIMES = 10
SAME_PAGES, SAME_ARTICLES = 98, 99.5
PEER = "mwparserfromhell"

Tell = Callable[[str], None]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Page:
    site: Site
    namespace: int
    text: str


@dataclass(frozen=True)
class Told:
    """What mwparserfromhell tells of all pages, links and headings of each; and the seconds that it took."""

    seconds: float
    pages: Sequence[tuple[list[str], list[tuple[int, str]]]]


@dataclass(frozen=True)
class Compared:
    article: bool
    same_links: bool
    same_headings: bool


def measure(tell: Tell) -> list[Figure]:
    """Wikitext into sections, links and categories in MB/s, and whether the same is found, beside mwparserfromhell."""
    tell("reading dumps")
    pages = list(_pages(_folder()))
    megabytes = sum(len(page.text.encode()) for page in pages) / 1e6
    ours, theirs = [], []
    for number in range(ROUNDS):
        tell(f"{megabytes:.1f} MB in {len(pages):,} pages, round {number + 1} of {ROUNDS}")
        ours.append(_ours(pages))
        theirs.append(_theirs(pages))
    fast, slow = median(ours), median(told.seconds for told in theirs)
    compared = [_compared(page, *told) for page, told in zip(pages, theirs[0].pages, strict=True)]
    return [
        Figure("pages", len(pages), "pages"),
        Figure("wikitext", megabytes, "MB"),
        Figure("Detent", megabytes / fast, "MB/s"),
        Figure("Detent", len(pages) / fast, "pages/s"),
        Figure(PEER, megabytes / slow, "MB/s"),
        at_least(TIMES, f"Detent ÷ {PEER}", slow / fast, "times", peer=PEER),
        *_shares("pages", SAME_PAGES, compared),
        *_shares("articles", SAME_ARTICLES, [each for each in compared if each.article]),
    ]


def _folder() -> Path:
    given = os.environ.get("BENCH_WIKITEXT")
    samples = os.environ.get("DETENT_SAMPLES")
    if not given and not samples:
        raise RuntimeError("Set BENCH_WIKITEXT to a folder of dump files of MediaWiki.")
    return Path(given) if given else Path(samples or "", "mediawiki", "dumps")


def _pages(folder: Path) -> Iterator[Page]:
    files = sorted(file for pattern in ("*.xml", "*.xml.bz2", "*.xml.gz") for file in folder.glob(pattern))
    left = MOST_BYTES
    with tempfile.TemporaryDirectory() as cache:
        for dump in (Dump(file, Path(cache)) for file in files):
            for page in dump.pages():
                if left > 0 and page.model == "wikitext":
                    left -= page.length
                    yield Page(dump.site(), page.namespace, page.text)


def _ours(pages: Sequence[Page]) -> float:
    began = time.process_time()
    for page in pages:
        parse(page.text, page.site)
    return time.process_time() - began


def _theirs(pages: Sequence[Page]) -> Told:
    told = subprocess.run(
        [environment.interpreter(), "-m", "benchmarks.peers.mwparserfromhell_run"],
        input=json.dumps([page.text for page in pages]),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return Told(**json.loads(told.stdout))


def _compared(page: Page, links: Sequence[str], headings: Sequence[tuple[int, str]]) -> Compared:
    article = parse(page.text, page.site)
    return Compared(
        page.namespace == ARTICLES,
        [link.title.text for link in article.links] == list(_titles(links, page.site)),
        [(each.level, _words(each.title)) for each in article.sections[1:]]
        == [(level, _words(title)) for level, title in headings],
    )


def _titles(links: Sequence[str], site: Site) -> Iterator[str]:
    """What the wiki makes of links. Those within the page, to parts of it, and to files or categories are left out."""
    for link in links:
        written = _COMMENT.sub("", link)
        title = None if written.lstrip().startswith("/") else site.title(written)
        if title is not None and (title.told or title.namespace not in (FILES, CATEGORIES)):
            yield title.text


def _words(title: str) -> list[str]:
    """The words of a heading. What is around them differs, as tags and templates leave spaces in their place."""
    return _WORDS.findall(title)


def _shares(what: str, goal: float, compared: Sequence[Compared]) -> Iterator[Figure]:
    links = sum(each.same_links for each in compared) / len(compared) * 100
    headings = sum(each.same_headings for each in compared) / len(compared) * 100
    yield at_least(goal, f"{what} with the same links", links, "%", peer=PEER)
    yield at_least(goal, f"{what} with the same headings", headings, "%", peer=PEER)
