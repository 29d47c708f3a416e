"""Words that a wiki shows in the language variant its reader chose: `-{zh-hans:简体;zh-hant:繁體}-`.

The words of the first variant are taken. Only wikis in a language with variants know such marks; elsewhere they
are text.
"""

from __future__ import annotations

import re
from functools import cache

from detent.wikitext.marks import SECTION

_LANGUAGES = frozenset(
    {"ban", "crh", "gan", "iu", "kk", "ku", "mni", "sh", "shi", "sr", "tg", "tly", "uz", "wuu", "zgh", "zh"}
)
_DEEPEST = 10
"""Number of nested levels that are parsed, as in MediaWiki."""

_CHOICE = re.compile(rf"-\{{(?!\{{)([^{{}}{SECTION}]*+)\}}-")
"""A choice with no other choice in it. Two braces after a dash begin a template."""
_FLAGS = re.compile(r"([\w;+\- ]*+)\|")
_LITERAL = frozenset("RN")


def chosen(text: str, language: str) -> str:
    """Return a text with one variant of each choice, if its language has variants."""
    base = language.lower().partition("-")[0]
    if "-{" not in text or base not in _LANGUAGES:
        return text
    for _ in range(_DEEPEST):
        text, count = _CHOICE.subn(lambda choice: _shown(choice[1], base), text)
        if not count:
            break
    return text


def _shown(content: str, base: str) -> str:
    """Return the visible text of a choice. Letters before a pipe are flags: some only affect the rest of the page,
    or its title, and some turn the choice off."""
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
    """Return the patterns before the words of the first variant, and between these and others."""
    begins = rf"\s*+(?:[^;:]*?=>\s*+)?{base}(?:-[a-z]+)*+\s*+:"
    return re.compile(begins), re.compile(rf";(?:{begins}|\s*+\Z)")
