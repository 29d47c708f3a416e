"""Keys of parts: made of names, unique in their file, and the same while other parts change."""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 120
_NO_WORD = re.compile(r"[^\w]+")
_NO_ANCHOR = re.compile(r"[^\w\- ]")


def slug(words: str) -> str:
    """Words as one: `Getting started!` is `getting-started`."""
    plain = unicodedata.normalize("NFKC", words).casefold()
    return _NO_WORD.sub("-", plain).strip("-")[:_LONGEST] or "section"


def anchor(written: str) -> str:
    """A heading, or what a link has for its anchor, in one form: `What's new` is `whats-new`. GitHub and MkDocs write
    them so, but for how many hyphens stand in a row."""
    return slug(_NO_ANCHOR.sub("", written))
