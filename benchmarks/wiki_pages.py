"""Articles for wikis to be made of: real ones, where DETENT_SAMPLES names a folder with dumps, and else made-up ones.

They come under titles of their own and link to each other, so that who begins with one gets to all of them.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path

from detent.sources.wiki.dump import Dump
from detent.wikitext.site import ARTICLES

MADE_UP = 2_000
FURTHER = 10
"""Links that an article has to articles that no other one links to in this way, as long as there are any left."""

_LINK = re.compile(r"\[\[\s*([^\[\]|#:{}<>\n]+)(\|?)")
_HEADING, _BOLD = re.compile(r"^==+(.*?)==+\s*$", re.MULTILINE), r"'''\1'''"
_LETTERS = "etaoinshrdlu"
_TOO_LARGE = 1.2


@dataclass(frozen=True)
class Written:
    """An article as it is written, or another name of one."""

    title: str
    text: str
    redirect: str | None = None


def articles() -> list[Written]:
    """Articles of real wikis, or made-up ones of about their size."""
    samples = os.environ.get("DETENT_SAMPLES")
    if not samples:
        return [Written(title(number), made_up(number, links=15, words=900)) for number in range(MADE_UP)]
    found: dict[str, Written] = {}
    with tempfile.TemporaryDirectory() as cache:
        for file in sorted(Path(samples, "mediawiki", "dumps").glob("*.xml.bz2")):
            for page in Dump(file, Path(cache)).pages():
                if page.namespace == ARTICLES and page.redirect is None and page.model == "wikitext" and page.text:
                    found.setdefault(page.title, Written(page.title, page.text))
    return list(found.values())


def title(number: int) -> str:
    """The title of an article that has no other."""
    return f"{_word(number).capitalize()} {number}"


def made_up(number: int, *, links: int, words: int) -> str:
    """An article of so many words with so many links, in a lead and five sections, in two categories."""
    chance = random.Random(number)
    found = [_word(int(chance.paretovariate(0.6)) % 40_000) for _ in range(words)]
    for _ in range(links):
        found[chance.randrange(words)] += f" [[{title(chance.randrange(MADE_UP))}]]"
    sections = [" ".join(found[start::6]) for start in range(6)]
    headed = "\n\n".join(f"== Part {place} ==\n{text}." for place, text in enumerate(sections[1:], 1))
    return f"'''It''' is {sections[0]}.\n\n{headed}\n\n[[Category:{_word(number % 50)}]]\n[[Category:Made up]]\n"


def many(some: Sequence[Written], articles_wanted: int, bytes_wanted: int) -> Iterator[Written]:
    """Articles again and again, each time under other titles and with links among those, until there are so many, or so
    many bytes of them."""
    titles = {article.title for article in some}
    number = size = 0
    for copy in count():
        for article in some:
            if number >= articles_wanted or size >= bytes_wanted:
                return
            again = _renamed(article, titles, f" ({copy})") if copy else article
            yield again
            number, size = number + 1, size + len(again.text.encode())


def with_redirects(some: Sequence[Written], each: int) -> list[Written]:
    """The articles, and for one out of so many another name, which stands anywhere among them."""
    chance = random.Random(0)
    named = ((f"{article.title}, or so", article.title) for article in some[::each])
    redirects = [Written(name, f"#REDIRECT [[{target}]]", target) for name, target in named]
    placed = [*enumerate(some), *((chance.uniform(0, len(some)), redirect) for redirect in redirects)]
    return [article for _, article in sorted(placed, key=lambda place: place[0])]


def joined(some: Sequence[Written], number: int, least_bytes: int = 0) -> list[Written]:
    """So many articles that lead to each other. One that is smaller than wanted has others as sections."""
    others = cycle(some)
    found = []
    for place in range(number):
        text = next(others).text
        while (size := len(text.encode())) < least_bytes:
            more = next(others)
            if size + len(more.text.encode()) < least_bytes * _TOO_LARGE:
                text += f"\n\n== {more.title} ==\n{_HEADING.sub(_BOLD, more.text)}"
        found.append(Written(title(place), _linked(text, place, number)))
    return found


def _renamed(article: Written, titles: set[str], ending: str) -> Written:
    def link(found: re.Match[str]) -> str:
        name = found[1].strip()
        return f"[[{name}{ending}{found[2]}" if name[:1].upper() + name[1:] in titles else found[0]

    return Written(article.title + ending, _LINK.sub(link, article.text))


def _linked(text: str, place: int, number: int) -> str:
    """The text with its links led to articles that there are, and some more links, to articles further on."""
    chance = random.Random(place)

    def link(found: re.Match[str]) -> str:
        target = f"[[{title(chance.randrange(number))}|"
        return target if found[2] else target + found[1].strip()

    led = _LINK.sub(link, text)
    further = range(place * FURTHER + 1, min(place * FURTHER + FURTHER + 1, number))
    return f"{led}\n\n== See also ==\n" + "\n".join(f"* [[{title(each)}]]" for each in further)


def _word(number: int) -> str:
    """A word that no other number has."""
    letters = []
    for _ in count():
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
        if not number:
            return "".join(letters)
    raise AssertionError
