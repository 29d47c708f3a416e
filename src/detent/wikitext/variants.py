"""Words that a wiki shows its readers in the variant of its language that they chose: `-{zh-hans:简体;zh-hant:繁體}-`.

What is meant for the first variant is taken for all. Only wikis in a language that has variants know such marks;
elsewhere they are text.
"""

from __future__ import annotations

import re
from functools import cache

from detent.wikitext.marks import SECTION

_LANGUAGES = frozenset(
    {"ban", "crh", "gan", "iu", "kk", "ku", "mni", "sh", "shi", "sr", "tg", "tly", "uz", "wuu", "zgh", "zh"}
)
_DEEPEST = 10
"""Levels of what stands within each other that are looked at, as MediaWiki does."""

_CHOICE = re.compile(rf"-\{{(?!\{{)([^{{}}{SECTION}]*+)\}}-")
"""A choice in which nothing else stands. Where two braces follow a dash, they begin a template."""
_FLAGS = re.compile(r"([\w;+\- ]*+)\|")
_LITERAL = frozenset("RN")


def chosen(text: str, language: str) -> str:
    """A text with one variant of each choice, if it is in a language that has any."""
    base = language.lower().partition("-")[0]
    if "-{" not in text or base not in _LANGUAGES:
        return text
    for _ in range(_DEEPEST):
        text, count = _CHOICE.subn(lambda choice: _shown(choice[1], base), text)
        if not count:
            break
    return text


def _shown(content: str, base: str) -> str:
    """What is seen of a choice. Letters before a pipe say what it is for: some only tell of the rest of the page, or of
    its title, and some that there is nothing to choose."""
    before = _FLAGS.match(content)
    flags = {flag.strip() for flag in before[1].split(";")} if before else set()
    words = content[before.end() :] if before else content
    if flags & _LITERAL:
        return words
    if flags & {"-", "H"} or flags == {"T"}:
        return ""
    first, others = _rules(base)
    rule = first.match(words)
    return others.split(words[rule.end() :], maxsplit=1)[0].strip() if rule else words


@cache
def _rules(base: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What stands before the words for the first variant, and what between these and others."""
    begins = rf"\s*+(?:[^;:]*?=>\s*+)?{base}(?:-[a-z]+)*+\s*+:"
    return re.compile(begins), re.compile(rf";(?:{begins}|\s*+\Z)")
