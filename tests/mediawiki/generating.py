"""Articles that a generator makes, always the same: a few sections each, in all kinds of dress, and links to others."""

from __future__ import annotations

import random
from collections.abc import Iterator

COUNT = 300
_FURTHEST = 40
_MISSING = 20
"""So many of the titles that are linked to are those of no page."""

_SYLLABLES = ("ko", "ra", "mi", "tu", "ne", "la", "so", "vi", "zar", "ö", "ul", "ey", "ñan", "dé")
_CATEGORIES = ("Birds", "Times", "Hidden things", "Said to be hidden", "Hidden by its template", "Without a page")
_SPELLINGS = (
    "[[Article {}]]",
    "[[article {}|that one]]",
    "[[ Article__{} ]]s",
    "[[Article%20{}]]",
    "[[:Article {}#There|there]]",
    "[[Article&#32;{}]]",
)
_DRESSES = (
    "{}",
    "* {}\n** two\n# three",
    "<!-- left out --> {} <ref>elsewhere</ref>",
    "{{|\n! a !! b\n|-\n| {} || d\n|}}",
    "<nowiki>[[{}]]</nowiki>",
    "<gallery>\nFile:A.jpg|{}\n</gallery> ''after''",
    "{{{{Nowrap|{}}}}} {{{{Unknown|x=[[Unseen]]}}}}",
    ": {}\n----\n; term : definition",
)


def generated() -> dict[str, str]:
    """The articles by their titles."""
    chance = random.Random(12)
    return {f"Article {number}": "".join(_article(number, chance)) for number in range(COUNT)}


def _article(number: int, chance: random.Random) -> Iterator[str]:
    """An article that links to a few others, which are not far from it, in some spelling."""
    if chance.random() < 0.3:
        yield f"{{{{Infobox thing|number={number}|near=[[Article {number + 1}]]}}}}\n"
    yield f"'''Article {number}''' is about {_words(chance, 8)}.\n"
    for _ in range(chance.randrange(4)):
        equals = "=" * chance.randrange(1, 7)
        yield f"{equals} {_words(chance, 2)} {equals}\n{chance.choice(_DRESSES).format(_words(chance, 40))}\n"
        yield f"See {_link(number, chance)} and {_link(number, chance)}.\n"
    yield from (f"[[Category:{name}]]" for name in chance.sample(_CATEGORIES, chance.randrange(3)))


def _words(chance: random.Random, count: int) -> str:
    return " ".join("".join(chance.choices(_SYLLABLES, k=chance.randrange(1, 4))) for _ in range(count))


def _link(number: int, chance: random.Random) -> str:
    target = (number + chance.randrange(1, _FURTHEST)) % (COUNT + _MISSING)
    return chance.choice(_SPELLINGS).format(target)
