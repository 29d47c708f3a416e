"""The entries of a data file's top level, and the text outside of them."""

from __future__ import annotations

import re

from detent.documents.decoding import decode, is_binary, storable
from detent.documents.keys import slug
from detent.documents.parsed import Parsed, Part, Unparsable
from detent.knowledge.keys import Unique

MOST_PARTS = 5_000
LONGEST_TEXT = 100_000
"""Characters of an entry's text, and of the file's own, that are kept."""

_LONGEST_TITLE = 500
_COMMENT = re.compile(r"[ \t]*+#[^\n]*+")
FAULTY = ("Some of its bytes are no text in its encoding, and stand as �.",)


class Malformed(Exception):
    """The text cannot be read from here on."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


class Places:
    """Places in a text by those in its bytes, which are asked for from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._plain = data.isascii()
        self._byte = self._place = 0

    def at(self, byte: int) -> int:
        if self._plain:
            return byte
        self._place += len(self._data[self._byte : byte].decode(errors="replace"))
        self._byte = byte
        return self._place


class Entries:
    """The entries of a text, up to the most that become parts, and the pieces of text outside of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Part] = []
        self.start = self.end = 0
        """The beginning of the first part, and the end of the last."""
        self.documents = 1
        self.loose: list[tuple[int, int]] = []
        self.problems: list[str] = []
        self._unique = Unique()
        self._count = self._reached = 0
        self._line = 1
        self._cut: list[str] = []

    def add(self, title: str, kind: str, start: int, end: int) -> None:
        """Add an entry, after those that were added before."""
        self._count, self._reached = self._count + 1, end
        if self._count > MOST_PARTS:
            return
        first = self._line + self.text.count("\n", self.end, start)
        self._line = first + self.text.count("\n", start, end)
        self.start, self.end = self.start if self.parts else start, end
        plain = " ".join(storable(title[:_LONGEST_TITLE]).split())
        if end - start > LONGEST_TEXT:
            self._cut.append(plain[:50])
        key, text = self._unique.key(slug(plain)), self.text[start : min(end, start + LONGEST_TEXT)]
        document = {"document": self.documents} if self.documents > 1 else {}
        self.parts.append(Part("Section", key, plain, text, first, self._line, properties={"type": kind, **document}))

    def add_commented(self, title: str, kind: str, start: int, end: int) -> None:
        """Add an entry with the comment on its last line, and those right above it."""
        floor = self._reached
        line = self.text.rfind("\n", floor, start) + 1
        while line > floor and not self.text[line:start].strip(" \t"):
            above = self.text.rfind("\n", floor, line - 1) + 1
            if above < floor or not self.text[above:line].lstrip(" \t").startswith("#"):
                break
            start = line = above
        comment = _COMMENT.match(self.text, end)
        self.add(title, kind, start, comment.end() if comment else end)

    def fail(self, language: str, error: Malformed) -> None:
        """Tell where the text is malformed. What comes after the last whole entry is the file's own text."""
        place = min(error.place, len(self.text))
        line, column = self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place)
        self.problems.append(f"It is no valid {language}: line {line}, column {column}: {error}.")
        self.loose = [piece for piece in self.loose if piece[1] <= self.end] + [(self.end, len(self.text))]

    def parsed(self, kind: str, *, faulty: bool) -> Parsed:
        if self._count > len(self.parts):
            self.problems.append(f"It has {self._count:,} entries; the first {MOST_PARTS:,} of them are parts.")
            self.loose = [(self.end, len(self.text))]
        own = "\n".join(filter(None, (self.text[start:end].strip(" \t\n,") for start, end in self.loose)))
        if len(own) > LONGEST_TEXT:
            self.problems.append(f"Its own text has {len(own):,} characters; the first {LONGEST_TEXT:,} were kept.")
        if self._cut:
            names = ", ".join(self._cut[:3]) + (" …" if len(self._cut) > 3 else "")
            self.problems.append(f"The text of some entries was cut after {LONGEST_TEXT:,} characters: {names}.")
        self.problems.extend(FAULTY * faulty)
        properties = {"documents": self.documents} if self.documents > 1 else {}
        return Parsed(kind, text=own[:LONGEST_TEXT], properties=properties, parts=self.parts, problems=self.problems)


def read(data: bytes) -> tuple[str, bool]:
    """The text of a file, and whether some of it could not be read."""
    if is_binary(data):
        raise Unparsable("It is no text.")
    decoded = decode(data)
    return decoded.text, decoded.faulty
