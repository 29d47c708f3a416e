"""Switches: words such as `__NOTOC__` that control how a page is shown. They are no part of the text.

Much else is written with two underscores before and after it, such as `__init__` and `__FILE__` in pages about
programs. So the places where a switch is recognised depend on whether the word is certainly one.
"""

from __future__ import annotations

import re

_IN_ANY_CASE = "NOTOC|TOC|FORCETOC|NOEDITSECTION|NOGALLERY|NOTITLECONVERT|NOTC|NOCONTENTCONVERT|NOCC"
_IN_CAPITALS = (
    "NEWSECTIONLINK|NONEWSECTIONLINK|HIDDENCAT|EXPECTUNUSEDCATEGORY|EXPECTUNUSEDTEMPLATE|EXPECTWITHOUTSCANS|INDEX|NOINDEX"
    "|STATICREDIRECT|DISAMBIG|NOGLOBAL|EXPECTED_UNCONNECTED_PAGE|ARCHIVEDTALK|NOTALK"
)
_KNOWN = re.compile(f"__(?:(?i:{_IN_ANY_CASE})|{_IN_CAPITALS})__")
"""Switches of MediaWiki and of Wikimedia's extensions, which every wiki accepts besides those in its own language."""

_WORD = r"[^\W\d_]++(?:_[^\W\d_]++)*+"
_SWITCH = re.compile(f"__({_WORD})__")
_ALONE = re.compile(rf"\n[ \t]*+(?:__{_WORD}__[ \t]*+)++(?=\n|\Z)")
"""A line of nothing but switches."""


def without_switches(text: str) -> tuple[str, frozenset[str]]:
    """Return a text without its switches, and the switches.

    Switches in the wiki's own language, which are unknown here, are removed only if no text stands beside them.
    """
    if "__" not in text:
        return text, frozenset()
    rest = _KNOWN.sub("", text)
    return _ALONE.sub(_unswitched, f"\n{rest}")[1:], switches_in(text)


def _unswitched(line: re.Match[str]) -> str:
    return line[0] if any(not word.isupper() for word in _SWITCH.findall(line[0])) else "\n"


def switches_in(text: str) -> frozenset[str]:
    """Return everything in a text that could be a switch, wherever it is; the caller looks one up by name."""
    known = (switch[0].strip("_").upper() for switch in _KNOWN.finditer(text))
    return frozenset((*known, *(word for word in _SWITCH.findall(text) if word.isupper())))
