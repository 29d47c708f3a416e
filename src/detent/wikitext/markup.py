"""The marks that nest: links, templates, references, and the headings between them.

The text is split once at all marks. What is open is kept on a stack, with the place in the output where it began; what
is closed is cut out of the output there, and what can be seen of it put back. So what is never closed needs nothing
undone: it is text already. A link or a template in which nothing else stands is one mark, which needs no stack.
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
"""Levels of what stands within each other that are looked at. What is deeper in is text, or left out with the rest."""

_TRAIL = "[a-zß-öø-ÿ\u0101-\u017f\u03ac-\u03ce\u0430-\u045f]*"
"""Letters that are a part of the words of a link when they follow it."""

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
"""All marks. Nothing in them is looked at twice because what follows does not fit, so that no text takes too long."""

_LANGUAGE = re.compile(r"(?!(?:doi|mw|voy|wmf)\Z)[a-z]{2,3}(?:-[a-z-]+)?|simple")
_TRICK = re.compile(r":?(?:[^:]*:)?(.*?)(?:\s*\([^()]*\)|, .*)?")
_MOST_BRACES = 20
"""Braces in a row that open something. More of them are text."""
_MOST_EQUALS = 6


class Heading(NamedTuple):
    """A heading: its level, the number of the mark that it is, and where it begins in the output."""

    level: int
    place: int
    start: int


@dataclass
class Found:
    """What is found in a page besides its text. Each thing has the number of the mark with which it begins."""

    headings: list[Heading] = field(default_factory=list)
    links: list[tuple[Title, int]] = field(default_factory=list)
    categories: dict[str, None] = field(default_factory=dict)
    templates: dict[str, int] = field(default_factory=dict)
    infobox: tuple[int, str] | None = None
    steps: int = 0
    """Marks, and characters that were put together again: what the time grows with that reading takes."""

    def absorb(self, other: Found, place: int) -> None:
        """Add what was found in a heading, which is one mark of the page."""
        self.links += [(title, place) for title, _ in other.links]
        self.categories.update(other.categories)
        for name in other.templates:
            self.templates.setdefault(name, place)
        self.steps += other.steps


class _Open(NamedTuple):
    """A link or template that is not closed yet. `braces` is how many braces opened it, 0 if it is a link."""

    start: int
    place: int
    braces: int


class _Reference(NamedTuple):
    """A reference that is not closed yet, with how many things and how many templates were open before it."""

    start: int
    depth: int
    templates: int


_NO_REFERENCE = _Reference(-1, 0, 0)


class Reader:
    """Goes through the marks of a text."""

    def __init__(self, titles: Titles) -> None:
        self.found = Found()
        self._titles = titles
        self._uses: dict[str, Use] = {}
        self._pieces: list[str] = []
        self._output: list[str] = []
        self._open: list[_Open] = []
        self._templates = 0
        """How many templates are open in the reference at hand, or outside all of them."""
        self._reference = _NO_REFERENCE
        self._last_closing = -1
        """The number of the last mark that closes a reference, once it was looked for."""

    def read(self, text: str) -> str:
        """What can be seen of a text. A heading is a line that begins with `SECTION`."""
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
        """Whether what follows could be a title, which has no line end and no link in it. That is seen at once, so that
        what is no link does not stay open."""
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
        """Of three brackets in a row, the one that closes what was opened within the words of a link, taken from what
        follows."""
        after = self._pieces[place + 1]
        if not after.startswith("]") or label.count("[") <= label.count("]"):
            return ""
        self._pieces[place + 1] = after[1:]
        return "]"

    def _link(self, target: str, label: str | None, trail: str, place: int) -> str:
        """Note a link, and tell what is seen of it."""
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
        """Put out what is seen of a thing. Where another one is open around it, it divides no arguments of that."""
        if self._open:
            words = words.replace("|", PIPE).replace("=", EQUALS)
        self._output.append(words)

    def _show(self, shown: str) -> None:
        """Put out what a template shows, whose pipes may divide what is around it. Within another thing it is marked,
        for no title is known that it is a part of. A sign and the page's own title are parts of one, though."""
        if not shown:
            shown = GONE
        elif self._open and shown not in _SIGNS:
            shown = shown.replace("=", EQUALS) + ("" if shown == self._titles.page else NOTHING)
        self._output.append(shown)

    def _end_template(self, mark: str, place: int) -> None:
        """Close as many templates as there are braces for. Links that are still open in them are none."""
        left = len(mark)
        while left >= 2 and self._templates:
            while not self._open[-1].braces:
                self._open.pop()
            left -= self._close_braces(left)
        self._output.append("}" * left)

    def _close_braces(self, closing: int) -> int:
        """Close the template or parameter that was opened last; how many braces that takes."""
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
        """Note a template, and tell what is seen of it."""
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
        """Leave out a reference. It reaches to where it is closed, whatever else is open then. One that is never closed
        is none."""
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
        """What can be seen of a line. As no other begins in it, this goes no deeper."""
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
        """Take back what was put out since, without the headings in it."""
        content = "".join(self._output[start:])
        self.found.steps += len(content)
        if self._has_heading(start):
            content = content.replace(SECTION, "")
        self._drop(start)
        return content

    def _drop(self, start: int) -> None:
        """Leave out what was put out since, with the headings in it: they are none of the page."""
        del self._output[start:]
        while self._has_heading(start):
            self.found.headings.pop()


_SIGNS = frozenset((PIPE, EQUALS))
"""What is shown by the templates that are called for a sign: `{{!}}` and `{{=}}`."""

_READERS = {
    "[": Reader._read_link,
    "]": Reader._end_link,
    "{": Reader._read_template,
    "}": Reader._end_template,
    "<": Reader._read_reference,
    "\n": Reader._read_heading,
}
"""What a mark is read by, told by its first character."""


def _words(target: str, label: str | None) -> str:
    """What a link is shown with. An empty label is a short way to write the title without what tells it from others."""
    if label:
        return label
    if label is None:
        return target.strip().removeprefix(":")
    trick = _TRICK.fullmatch(target.strip()) if len(target) <= LONGEST_WRITTEN else None
    return trick[1] if trick else target


def _default(parameter: str) -> str:
    """What is seen of a parameter where none is given."""
    return parameter.partition("|")[2].replace("=", EQUALS) or NOTHING


def _level(line: str) -> int:
    """The level of a heading, by the shorter of the two rows of `=` around it; 0 if it is none. Of a line that has
    nothing else, the middle is the title."""
    opening = len(line) - len(line.lstrip("="))
    if opening == len(line):
        return min((opening - 1) // 2, _MOST_EQUALS)
    return min(opening, len(line) - len(line.rstrip("=")), _MOST_EQUALS)
