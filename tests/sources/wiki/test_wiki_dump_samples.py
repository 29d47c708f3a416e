"""Real dumps, where the folder that DETENT_SAMPLES names has them: every page is read, and the same by every way."""

from __future__ import annotations

import bz2
import os
from pathlib import Path

import pytest

from detent.sources.wiki.dump import Dump, Dumped
from detent.sources.wiki.pages import Absent, Answer, Moved, Page

SAMPLES = Path(os.environ.get("DETENT_SAMPLES", "no samples"), "mediawiki", "dumps")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="DETENT_SAMPLES names no folder with dumps")

COUNTS = {
    "fatwiki-20240920-pages-articles-multistream.xml.bz2": (3_566, 1_485, 256),
    "akwiki-20230301-pages-articles-multistream.xml.bz2": (1_201, 789, 55),
    "aawiki-20260101-pages-meta-current.xml.bz2": (507, None, 19),
    "enwiktionary-2018-pages-articles-excerpt.xml.bz2": (1_389, None, 15),
    "pywikibot-article-pear-0.10.xml": (1, 1, 0),
    "pywikibot-article-pyrus.xml": (1, 1, 1),
    "pywikibot-pair-0.10.xml": (2, None, 0),
}
"""Of each dump, its pages, those among the articles, and its redirects."""

MULTISTREAMS = [name for name in COUNTS if "multistream" in name]


@pytest.fixture(params=COUNTS)
def name(request: pytest.FixtureRequest) -> str:
    if not (SAMPLES / request.param).is_file():
        pytest.skip(f"{request.param} is not among the samples")
    return str(request.param)


def _agrees(page: Dumped, answer: Answer, all_titles: set[str]) -> bool:
    """Whether a page that was read in its turn is the one that was found by its title."""
    if isinstance(answer, Page):
        found = (answer.title, answer.id, answer.revision, answer.text, answer.length, answer.namespace, answer.edited)
        read = (page.title, page.id, page.revision, page.text, page.length, page.namespace, page.edited)
        return found == read and page.redirect is None
    if isinstance(answer, Moved):
        return page.redirect is not None and answer.page is not None and answer.title in all_titles
    return page.redirect is not None or page.model != "wikitext" or page.lack is not None


def test_every_page_is_read_and_found(name: str, tmp_path: Path) -> None:
    dump = Dump(SAMPLES / name, tmp_path)
    pages = list(dump.pages())
    every, articles, redirects = COUNTS[name]
    assert len(pages) == every
    assert articles in (None, sum(page.namespace == 0 for page in pages))
    assert sum(page.redirect is not None for page in pages) == redirects
    assert all(page.title and page.id and page.revision and page.edited for page in pages)

    titles = {page.title for page in pages}
    for start in range(0, len(pages), 50):
        batch = pages[start : start + 50]
        found = dump.find([page.title for page in batch])
        assert [page.title for page in batch if not _agrees(page, found[page.title], titles)] == []


def test_the_titles_are_those_of_the_pages(name: str, tmp_path: Path) -> None:
    dump = Dump(SAMPLES / name, tmp_path)
    assert [(each.title, each.namespace, each.id) for each in dump.titles()] == [
        (page.title, page.namespace, page.id) for page in dump.pages()
    ]


def test_every_title_is_spelled_as_the_wiki_spells_it(name: str, tmp_path: Path) -> None:
    """So that no title of a page is taken for another one's."""
    dump = Dump(SAMPLES / name, tmp_path)
    site = dump.site()
    for page in dump.pages():
        title = site.title(page.title)
        assert title is not None
        assert (title.text, title.namespace) == (page.title, page.namespace)


@pytest.mark.parametrize("multistream", MULTISTREAMS)
def test_every_form_of_a_dump_has_the_same_pages(multistream: str, tmp_path: Path) -> None:
    source = SAMPLES / multistream
    if not source.is_file():
        pytest.skip(f"{multistream} is not among the samples")
    bare = tmp_path / "bare.xml.bz2"
    bare.write_bytes(source.read_bytes())
    plain = tmp_path / "plain.xml"
    plain.write_bytes(bz2.decompress(source.read_bytes()))
    dumps = [Dump(path, tmp_path / "cache") for path in (source, bare, plain)]
    first, *others = [list(dump.pages()) for dump in dumps]
    assert all(other == first for other in others)
    for start in range(0, len(first), 500):
        titles = [page.title for page in first[start : start + 500]]
        indexed, *rest = [dump.find(titles) for dump in dumps]
        assert all(found == indexed for found in rest)


@pytest.mark.parametrize("multistream", MULTISTREAMS)
def test_what_is_absent_from_a_real_dump_is_absent_for_a_reason(multistream: str, tmp_path: Path) -> None:
    if not (SAMPLES / multistream).is_file():
        pytest.skip(f"{multistream} is not among the samples")
    dump = Dump(SAMPLES / multistream, tmp_path)
    found = dump.find([each.title for each in dump.titles()])
    reasons = [answer.reason for answer in found.values() if isinstance(answer, Absent)]
    sorts = ("which is not in the dump", "its content model is", "is a page of another wiki")
    known = [reason for reason in reasons if any(sort in reason for sort in sorts)]
    assert known
    assert reasons == known
