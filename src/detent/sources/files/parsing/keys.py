"""Keys of parts: made of names, unique in their file, and the same while other parts change."""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 120
_NO_WORD = re.compile(r"[^\w]+")
_NO_ANCHOR = re.compile(r"[^\w\- ]")


def slug(heading: str) -> str:
    """A heading as the anchors of web pages write it: `Getting started!` is `getting-started`."""
    plain = unicodedata.normalize("NFKC", heading).casefold()
    return _NO_WORD.sub("-", plain).strip("-")[:_LONGEST] or "section"


def github_anchor(heading: str) -> str:
    """A heading as the anchors on GitHub write it: `What's new` is `whats-new`."""
    return _NO_ANCHOR.sub("", heading.lower()).replace(" ", "-")


class Unique:
    """Makes keys unique: the second `a` of a file is `a~2`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def key(self, wanted: str) -> str:
        times = self._seen.get(wanted, 0) + 1
        self._seen[wanted] = times
        return wanted if times == 1 else self.key(f"{wanted}~{times}")
