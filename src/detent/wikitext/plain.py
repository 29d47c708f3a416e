"""Text without the marks that do not nest: tags, quotes for bold and italics, addresses, entities."""

from __future__ import annotations

import re
from collections.abc import Sequence

from detent.wikitext.hiding import without_hidden
from detent.wikitext.lines import arranged
from detent.wikitext.marks import BREAK, GONE, INDENT, KEPT, KEPT_END, NOTHING, SECTION, undivided
from detent.wikitext.verbatim import decoded

_BREAKING = "br|hr|p|div|li|ul|ol|dl|dt|dd|tr|table|caption|blockquote|center|poem|h[1-6]"
_TAG = re.compile(
    rf"</?(?i:({_BREAKING})|(td|th)|abbr|bdi|bdo|big|b|cite|code|data|del|dfn|em|font|indicator|ins|i|kbd|langconvert|link|mark|meta"
    r"|noinclude|onlyinclude|q|rb|references|ref|rp|rtc|rt|ruby|samp|section|small|span|strike|strong|sub|sup|s|time"
    rf"|translate|tt|tvar|u|var|wbr)(?![\w-])[^<>{SECTION}]*+>"
)
"""Tags: first those at the beginning of a line, then the cells of tables, then inline tags."""
_QUOTES = re.compile("''(?:'''(?!')|'(?!')|(?!'))")
"""Two, three or five quotes; of a longer row, the last ones."""
_ADDRESS = re.compile(
    r"\[(?:(?i:https?|s?ftps?|ircs?|git|svn|ssh|gopher|telnet|nntp)://|//|(?i:mailto|news|tel|urn|magnet|geo):)"
    r"[^\s\[\]<>\"]++[ \t]*+([^\[\]\n]*+(?:\[[^\[\]\n]*+\][^\[\]\n]*+)*+)\]"
)
_BREAKS = re.compile(f"{BREAK}[ {BREAK}]+")
_SPACES = re.compile("  +")
_SET_ASIDE = re.compile(f"{KEPT}([0-9]+){KEPT_END}")
_EMPTY = re.compile(rf"\([ ,;]*+{GONE}[ ,;{GONE}]*+\)")
"""Parentheses with nothing left in them."""
_LAST = re.compile(rf"{GONE}(?=\n)(?<![,;]{GONE})(?<![,;] {GONE})")
"""The gap of a template that shows nothing, at the end of a line: the most common case. The other patterns would
remove it too, but slower."""
_GAP = re.compile(rf"{GONE}[ ,;{GONE}]*+")
_SEPARATORS = " ,;"
_OPENING = frozenset(f"\n{BREAK}*#:")
_CLOSING = frozenset(("", "\n", BREAK, ")"))
_ENDING = frozenset(".:!?")
_ENTITY = re.compile(r"&#?\w++\Z")
_LONGEST_ENTITY = 33


def plain(text: str, shown: Sequence[str]) -> str:
    """Return many lines without marks."""
    return _finished(arranged(_unmarked(text)), shown)


def _unmarked(text: str) -> str:
    if "<" in text:
        text = _TAG.sub(_instead, without_hidden(text))
    if "''" in text:
        text = _QUOTES.sub("", text)
    if "[" in text:
        text = _ADDRESS.sub(r"\1", text)
    if GONE in text:
        text = _closed(_LAST.sub("", _EMPTY.sub(GONE, text)))
    return undivided(text.replace(NOTHING, ""))


def _closed(text: str) -> str:
    """Close the gaps left by templates that show nothing, together with the separators around them at either end
    of a parenthesis and at the end of a line."""
    pieces: list[str] = []
    end = 0
    for gap in _GAP.finditer(text):
        before = text[end : gap.start()]
        end = gap.end()
        words = before.rstrip(_SEPARATORS)
        if before.startswith(";", len(words)) and _ENTITY.search(words[-_LONGEST_ENTITY:]):
            words += ";"
        pieces.append(words)
        if (following := text[end : end + 1]) not in _CLOSING and not words.endswith("("):
            pieces.append(_between(words[-1:], before[len(words) :], gap[0], following))
    pieces.append(text[end:])
    return "".join(pieces)


def _between(word: str, before: str, gap: str, following: str) -> str:
    """Return the separators that remain around a gap between these two characters: none at the end of a sentence
    or the beginning of a line, elsewhere one of several."""
    within, _, after = gap.rpartition(GONE)
    both = (before + gap).replace(GONE, "")
    space = " " if both.endswith(" ") else ""
    if following in _ENDING and not after:
        return ""
    if word in _OPENING:
        return space
    marks = both.replace(" ", "")
    if len(marks) > 1 or within.strip(f" {GONE}"):
        return (before.rstrip() or marks[0]) + space
    return before.removesuffix(" ") + after if after else before or within.replace(GONE, "")[:1]


def _instead(tag: re.Match[str]) -> str:
    if tag[1]:
        return BREAK
    return " " if tag[2] else ""


def _finished(text: str, shown: Sequence[str]) -> str:
    """Restore everything that was encoded to protect it from being read as markup."""
    text = decoded(text).replace("\u00a0", " ")
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if BREAK in text:
        text = _BREAKS.sub(BREAK, text).replace(f" {BREAK}", BREAK)
    text = text.replace(INDENT, "  ")
    return _SET_ASIDE.sub(lambda mark: shown[int(mark[1])], text) if shown else text
