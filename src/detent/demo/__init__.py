"""A small source that Detent ships: an almanac of mechanisms, whose entries refer to each other.

It shows how a source is declared: a lifecycle as a table, handlers as functions, and a list named SOURCES.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from importlib import resources

from detent import Child, Done, Failed, Handler, Item, Lifecycle, NewItem, Node, Outcome, Reference, Source

ENTRY = Lifecycle(
    "almanac-entry",
    initial="listed",
    moves=[
        ("listed", "claim", "reading"),
        ("reading", "done", "read"),
        ("reading", "back", "listed"),
        ("reading", "fail", "illegible"),
        ("read", "claim", "linking"),
        ("linking", "done", "linked"),
        ("linking", "back", "read"),
        ("linking", "fail", "illegible"),
        ("illegible", "retry", "listed"),
    ],
)

SECONDS_PER_ENTRY = 0.15
"""As if a slow service were asked, so that there is time to watch, and to kill a worker."""


def entries() -> dict[str, str]:
    """The almanac's entries by their titles."""
    text = resources.files(__package__).joinpath("almanac.md").read_text(encoding="utf-8")
    sections = (section.split("\n", 1) for section in text.split("## ") if section.strip())
    return {title.strip(): body.strip() for title, body in sections}


def discover() -> Iterator[NewItem]:
    return (NewItem(title, "Entry") for title in entries())


async def read(entry: Item) -> Outcome:
    """Reads an entry into its node, and its text into a passage that belongs to it and gets a vector."""
    await asyncio.sleep(SECONDS_PER_ENTRY)
    text = entries()[entry.key].replace("[[", "").replace("]]", "")
    passage = Child("Passage", f"{entry.key}: text", Node(entry.key, text), edge="HAS_TEXT")
    return Done(node=Node(entry.key, properties={"words": len(text.split())}), children=[passage])


async def link(entry: Item) -> Outcome:
    """Finds the entries that this one refers to. One refers to an entry that nobody has written."""
    await asyncio.sleep(SECONDS_PER_ENTRY)
    known = entries()
    targets = list(dict.fromkeys(re.findall(r"\[\[(.+?)\]\]", known[entry.key])))
    missing = [target for target in targets if target not in known]
    if missing:
        return Failed(f"It refers to {missing[0]!r}, and there is no such entry")
    return Done(references=[Reference("REFERS_TO", "Entry", target) for target in targets])


SOURCES = [
    Source(
        "almanac",
        lifecycles={"Entry": ENTRY, "Passage": "passage"},
        handlers=[Handler("reading", read), Handler("linking", link)],
        discover=discover,
        language="english",
    )
]
