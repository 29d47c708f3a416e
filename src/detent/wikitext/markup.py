"""The marks that nest: links, templates, references, and the headings between them.

The text is split once at all marks. Open marks are kept on a stack, with their position in the output. When one is
closed, its content is cut out of the output, and its visible text is put back. So an unclosed mark needs no
undoing: it is text already. A link or template with no other mark in it is one mark, which needs no stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from detent.wikitext.marks import EQUALS, GONE, NOTHING, PIPE, SECTION, undivided
from detent.wikitext.site import CATEGORIES, FILES, LONGEST_WRITTEN, Title
from detent.wikitext.templates import Use, positional, use_of
from detent.wikitext.titles import Titles

DEEPEST = 40
"""Number of nested levels that are parsed. Deeper content is text, or is left out with the rest."""

_TRAIL = "[a-zß-öø-ÿ\u0101-\u017f\u03ac-\u03ce\u0430-\u045f]*"
"""Letters that belong to the words of a link when they directly follow it."""

_MARK = re.compile(
    rf"(\[\[[^\[\]{{}}<>|\n]*+(?:\|[^\[\]{{}}<]*+)?+\]\]{_TRAIL}"
    r"|\[\["
    rf"|\]\]{_TRAIL}"
    r"|\{\{[^\[\]{}<]*+\}\}"
    r"|\{\{+"
    r"|\}\}+"
    r"|</?[rR][eE][fF](?:[\s/][^<>]*+)?+>"
    r"|\n=[^\n]*=[ \t]*+(?=\n|\Z))"
)
"""All marks. No part of the pattern backtracks, so that no text takes too long."""

_LANGUAGE = re.compile(r"(?!(?:doi|mw|voy|wmf)\Z)[a-z]{2,3}(?:-[a-z-]+)?|simple")
_TRICK = re.compile(r":?(?:[^:]*:)?(.*?)(?:\s*\([^()]*\)|, .*)?")
_MOST_BRACES = 20
"""Longest row of braces that opens something. A longer row is text."""
_MOST_EQUALS = 6


class Heading(NamedTuple):
    """A heading: its level, the number of its mark, and its position in the output."""

    level: int
    place: int
    start: int


@dataclass
class Found:
    """Everything found in a page besides its text. Each entry has the number of the mark with which it begins."""

    headings: list[Heading] = field(default_factory=list)
    links: list[tuple[Title, int]] = field(default_factory=list)
    categories: dict[str, None] = field(default_factory=dict)
    templates: dict[str, int] = field(default_factory=dict)
    infobox: tuple[int, str] | None = None
    steps: int = 0
    """Number of marks, and of characters joined again: the measure of the time that reading takes."""

    def absorb(self, other: Found, place: int) -> None:
        """Add everything found in a heading, which is one mark of the page."""
        self.links += [(title, place) for title, _ in other.links]
        self.categories.update(other.categories)
        for name in other.templates:
            self.templates.setdefault(name, place)
        self.steps += other.steps


class _Open(NamedTuple):
    """A link or template that is not closed yet. `braces` is the number of braces that opened it, 0 for a link."""

    start: int
    place: int
    braces: int


class _Reference(NamedTuple):
    """A reference that is not closed yet, with the number of open marks and of open templates before it."""

    start: int
    depth: int
    templates: int


_NO_REFERENCE = _Reference(-1, 0, 0)


class Reader:
    """Reads the marks of a text, one after the other."""

    def __init__(self, titles: Titles) -> None:
        self.found = Found()
        self._titles = titles
        self._uses: dict[str, Use] = {}
        self._pieces: list[str] = []
        self._output: list[str] = []
        self._open: list[_Open] = []
        self._templates = 0
        """Number of templates open in the current reference, or outside all references."""
        self._reference = _NO_REFERENCE
        self._last_closing = -1
        """Number of the last mark that closes a reference, once it was searched for."""

    def read(self, text: str) -> str:
        """Return the visible text. A heading is a line that begins with `SECTION`."""
        self._pieces = pieces = _MARK.split(text)
        self._output = output = pieces[:1]
        self.found.steps += len(pieces)
        for place in range(1, len(pieces), 2):
            mark = pieces[place]
            _READERS[mark[0]](self, mark, place)
            output.append(pieces[place + 1])
        return "".join(output)

    def _read_link(self, mark: str, place: int) -> None:
        if len(mark) > 2:
            inside, _, trail = mark[2:].rpartition("]]")
            target, pipe, label = inside.partition("|")
            self._put(self._link(target, label if pipe else None, trail, place))
            return
        if self._may_be_link(place):
            self._open.append(_Open(len(self._output), place, 0))
        self._output.append(mark)

    def _may_be_link(self, place: int) -> bool:
        """True if the text after this mark could be a title: it has no line end and no link in it. Checking at
        once keeps a false link from staying open."""
        words = self._pieces[place + 1]
        title, pipe, _ = words.partition("|")
        if "\n" in title:
            return False
        return bool(pipe) or (place + 2 < len(self._pieces) and self._pieces[place + 2][0] in "{]")

    def _end_link(self, mark: str, place: int) -> None:
        opened = self._open
        if len(opened) <= self._reference.depth or opened[-1].braces:
            self._output.append(mark)
            return
        start, begun, _ = opened.pop()
        if len(opened) >= DEEPEST or self._has_heading(start):
            self._output.append(mark)
            return
        target, pipe, label = undivided(self._cut(start)[2:]).partition("|")
        label += self._end_of_address(label, place)
        self._put(self._link(target, label if pipe else None, mark[2:], begun))

    def _end_of_address(self, label: str, place: int) -> str:
        """Take the bracket that closes an external link within a link's words from the text that follows: the
        first of three in a row."""
        after = self._pieces[place + 1]
        if not after.startswith("]") or label.count("[") <= label.count("]"):
            return ""
        self._pieces[place + 1] = after[1:]
        return "]"

    def _link(self, target: str, label: str | None, trail: str, place: int) -> str:
        """Record a link, and return its visible text."""
        if way := self._titles.way(target):
            target = way.title
        title = self._titles.of(target)
        words = _words(way.words if way else target, label) + trail
        if title is None:
            return words
        if title.namespace and not title.told:
            if title.namespace == CATEGORIES:
                self.found.categories[title.text.partition(":")[2]] = None
                return trail
            if title.namespace == FILES:
                return trail
        self.found.links.append((title, place))
        if title.interwiki and label is None and not title.told and _LANGUAGE.fullmatch(title.interwiki):
            return trail
        return words

    def _read_template(self, mark: str, place: int) -> None:
        if mark[-1] == "}":
            self._show(self._template(mark[2:-2], place))
            return
        if len(mark) <= _MOST_BRACES:
            self._open.append(_Open(len(self._output), place, len(mark)))
            self._templates += 1
        self._output.append(mark)

    def _put(self, words: str) -> None:
        """Append the visible text of a mark. Within another open mark its pipes are protected, so that they
        separate no arguments."""
        if self._open:
            words = words.replace("|", PIPE).replace("=", EQUALS)
        self._output.append(words)

    def _show(self, shown: str) -> None:
        """Append the output of a template, whose pipes may separate the arguments of the template around it.

        Within another mark the output is marked, because it cannot be part of a title. A sign and the page's own
        title can, though.
        """
        if not shown:
            shown = GONE
        elif self._open and shown not in _SIGNS:
            shown = shown.replace("=", EQUALS) + ("" if shown == self._titles.page else NOTHING)
        self._output.append(shown)

    def _end_template(self, mark: str, place: int) -> None:
        """Close as many templates as there are braces for. Links still open within them are text."""
        left = len(mark)
        while left >= 2 and self._templates:
            while not self._open[-1].braces:
                self._open.pop()
            left -= self._close_braces(left)
        self._output.append("}" * left)

    def _close_braces(self, closing: int) -> int:
        """Close the template or parameter that was opened last; return the number of braces used."""
        start, begun, opening = self._open.pop()
        taken = 3 if closing >= 3 and opening >= 3 else 2
        shown = ""
        if len(self._open) >= DEEPEST:
            self._drop(start)
        else:
            content = self._cut(start)[opening:]
            shown = _default(content) if taken == 3 else self._template(content, begun)
        if opening - taken:
            self._output.append("{" * (opening - taken))
        if opening - taken >= 2:
            self._open.append(_Open(start, begun, opening - taken))
        else:
            self._templates -= 1
        if taken == 3:
            self._output.append(shown)
        else:
            self._show(shown)
        return taken

    def _template(self, content: str, place: int) -> str:
        """Record a template, and return its visible text."""
        name, _, arguments = content.partition("|")
        if len(name) > LONGEST_WRITTEN:
            return ""
        use = self._uses.get(name)
        if use is None:
            use = self._uses[name] = use_of(name, self._titles)
        found = self.found
        if use.name and found.templates.setdefault(use.name, place) > place:
            found.templates[use.name] = place
        if use.infobox and (found.infobox is None or found.infobox[0] > place):
            found.infobox = place, arguments
        return use.shown(positional(arguments)) if use.shown else ""

    def _read_reference(self, mark: str, place: int) -> None:
        """Skip a reference. It reaches to its closing mark, whatever else is open then. An unclosed one is text."""
        if mark[1] == "/":
            self._end_reference()
        elif self._reference is _NO_REFERENCE and not mark.endswith("/>") and place < self._last_closed():
            self._reference = _Reference(len(self._output), len(self._open), self._templates)
            self._templates = 0

    def _end_reference(self) -> None:
        start, depth, templates = self._reference
        if start >= 0:
            self._drop(start)
            del self._open[depth:]
            self._templates = templates
            self._reference = _NO_REFERENCE

    def _last_closed(self) -> int:
        if self._last_closing < 0:
            marks = range(len(self._pieces) - 2, 0, -2)
            self._last_closing = next((place for place in marks if self._pieces[place].startswith("</")), 0)
        return self._last_closing

    def _read_heading(self, mark: str, place: int) -> None:
        line = mark.strip("\n \t")
        level = _level(line)
        if level == 0 or (level == 1 and self._templates):
            self._output.append("\n" + self._inside(line, place))
            return
        self.found.headings.append(Heading(level, place, len(self._output)))
        self._output.append(f"\n{SECTION}{self._inside(line[level:-level], place)}\n")

    def _inside(self, line: str, place: int) -> str:
        """Return the visible text of a line. No other line begins in it, so this recurses no deeper."""
        if _MARK.search(line) is None:
            return line
        reader = Reader(self._titles)
        seen = reader.read(line)
        self.found.absorb(reader.found, place)
        return seen

    def _has_heading(self, start: int) -> bool:
        headings = self.found.headings
        return bool(headings) and headings[-1].start >= start

    def _cut(self, start: int) -> str:
        """Take back the output since `start`, without the headings in it."""
        content = "".join(self._output[start:])
        self.found.steps += len(content)
        if self._has_heading(start):
            content = content.replace(SECTION, "")
        self._drop(start)
        return content

    def _drop(self, start: int) -> None:
        """Discard the output since `start`, with its headings: they are not the page's own."""
        del self._output[start:]
        while self._has_heading(start):
            self.found.headings.pop()


_SIGNS = frozenset((PIPE, EQUALS))
"""Output of the templates that stand for a sign: `{{!}}` and `{{=}}`."""

_READERS = {
    "[": Reader._read_link,
    "]": Reader._end_link,
    "{": Reader._read_template,
    "}": Reader._end_template,
    "<": Reader._read_reference,
    "\n": Reader._read_heading,
}
"""The reader of each mark, by the mark's first character."""


def _words(target: str, label: str | None) -> str:
    """Return the visible words of a link. An empty label stands for the title without its disambiguation."""
    if label:
        return label
    if label is None:
        return target.strip().removeprefix(":")
    trick = _TRICK.fullmatch(target.strip()) if len(target) <= LONGEST_WRITTEN else None
    return trick[1] if trick else target


def _default(parameter: str) -> str:
    """Return the visible text of a parameter that is not given: its default."""
    return parameter.partition("|")[2].replace("=", EQUALS) or NOTHING


def _level(line: str) -> int:
    """Return the level of a heading, by the shorter of its two rows of `=`; 0 if the line is no heading. If the
    line has nothing else, its middle is the title."""
    opening = len(line) - len(line.lstrip("="))
    if opening == len(line):
        return min((opening - 1) // 2, _MOST_EQUALS)
    return min(opening, len(line) - len(line.rstrip("=")), _MOST_EQUALS)
