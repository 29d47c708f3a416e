"""Real wikitext: what holds of every page of the dumps in the folder that DETENT_SAMPLES names."""

from __future__ import annotations

import bz2
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from tests.wikitext.test_wikitext_hostile import check

from detent.wikitext import parse
from detent.wikitext.site import CANONICAL, CATEGORIES, FILES, Site

FOLDER = Path(os.environ.get("DETENT_SAMPLES", "/nowhere")) / "mediawiki" / "dumps"
DUMPS = sorted(FOLDER.glob("*.xml*")) if FOLDER.is_dir() else []

_UNREAD = re.compile(
    r"<!--.*?(?:-->|\Z)|<(nowiki|pre|math|chem|ce|source|syntaxhighlight|gallery|timeline|score|imagemap|includeonly|graph"
    r"|templatedata|inputbox|section|templatestyles|hiero|categorytree|mapframe|maplink|dynamicpagelist)\b"
    r"(?:[^<>]*/>|[^<>]*>.*?</\1\s*>)",
    re.DOTALL | re.IGNORECASE,
)
_LINK = re.compile(r"\[\[([^\[\]{}<>|\n]+)(?:\|[^\[\]{}<>|]*)?\]\]")
_HEADING = re.compile(r"(={2,6})[^=\n](?:[^\n]*[^=\n])?(={2,6})[ \t]*")

pytestmark = pytest.mark.skipif(not DUMPS, reason="DETENT_SAMPLES names no folder with dumps")


class Written(NamedTuple):
    title: str
    text: str


def site_of(dump: Path) -> Site:
    spaces = [(int(each.get("key", "0")), each.text or "", each.get("case")) for each in _elements(dump, "namespace")]
    keeping = frozenset(number for number, _, case in spaces if case == "case-sensitive")
    return Site({**CANONICAL, **{number: name for number, name, _ in spaces}}, case_sensitive=keeping)


def pages(dump: Path) -> Iterator[Written]:
    for page in _elements(dump, "page"):
        found = {element.tag.rpartition("}")[2]: element.text or "" for element in page.iter()}
        if found.get("model", "wikitext") == "wikitext":
            yield Written(found["title"], found["text"])


def _elements(dump: Path, tag: str) -> Iterator[ElementTree.Element]:
    with bz2.open(dump) if dump.suffix == ".bz2" else dump.open("rb") as file:
        for _, element in ElementTree.iterparse(file):  # noqa: S314  the samples are trusted
            if element.tag.rpartition("}")[2] == tag:
                yield element
                element.clear()


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.partition("-")[0])
class TestRealPages:
    def test_every_page_is_read(self, dump: Path) -> None:
        site = site_of(dump)
        for page in pages(dump):
            check(parse(page.text, site))

    def test_every_plain_link_is_a_link_a_category_or_a_file(self, dump: Path) -> None:
        site = site_of(dump)
        for page in pages(dump):
            article = parse(page.text, site)
            told = Counter(link.title.text for link in article.links)
            told.update(dict.fromkeys(article.categories, len(page.text)))
            assert not links_in(page.text, site) - told, page.title

    def test_headings_are_the_lines_that_look_like_one(self, dump: Path) -> None:
        site = site_of(dump)
        for page in pages(dump):
            expected = headings_in(page.text)
            if expected is not None:
                found = [section.level for section in parse(page.text, site).sections[1:]]
                assert found == expected, page.title


def links_in(text: str, site: Site) -> Counter[str]:
    """The links and categories with nothing else in them, by their titles, as often as they stand there."""
    found: Counter[str] = Counter()
    for written in _LINK.findall(_UNREAD.sub("", text)):
        title = site.title(written)
        if title is None or written.lstrip().startswith("//") or "://" in written:
            continue
        if title.namespace not in (FILES, CATEGORIES) or title.told:
            found[title.text] += 1
        elif title.namespace == CATEGORIES:
            found[title.text.partition(":")[2]] = 1
    return found


def headings_in(text: str) -> list[int] | None:
    """The levels of the headings that stand in no template and no reference; None if that is hard to tell."""
    text = _UNREAD.sub("", text)
    if text.count("{{") != text.count("}}") or "<ref" in text.lower():
        return None
    levels, depth = [], 0
    for line in text.split("\n"):
        heading = _HEADING.fullmatch(line)
        if heading and not depth:
            levels.append(min(len(heading[1]), len(heading[2])))
        elif line.startswith("=") and line.rstrip().endswith("="):
            return None
        depth += line.count("{{") - line.count("}}")
    return levels
