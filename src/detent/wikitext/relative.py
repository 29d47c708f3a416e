"""Links that are relative to the page they stand on, where pages have subpages."""

from __future__ import annotations

import re
from typing import NamedTuple

_UP = re.compile(r"(?:\.\./)*")


class Way(NamedTuple):
    """The title that a relative link leads to, in full, and what is seen of the link."""

    title: str
    words: str


def way(written: str, page: str) -> Way | None:
    """Where a link leads that is relative to this page: `/a` is below it, `../` above it, `../a` beside it. None for
    any other link."""
    name, sign, fragment = written.partition("#")
    name, rest = name.strip(), sign + fragment
    if name.startswith("/"):
        below = name[1:].rstrip("/")
        return Way(f"{page}/{below.strip()}{rest}", (below if name.endswith("/") else name) + rest)
    below = _UP.sub("", name, count=1)
    levels, above = (len(name) - len(below)) // len("../"), page.split("/")
    if not 0 < levels < len(above):
        return None
    title = "/".join([*above[:-levels], *filter(None, [below.rstrip("/").strip()])]) + rest
    return Way(title, below.rstrip("/") + rest if below.endswith("/") else title)
