"""A library, whose whole life uses everything that settling writes.

Pages, `page 00` and so on, are parsed, linked and embedded; sections are found in them and only embedded. One page
is lost, one fails at first, one section is too short, and the last page refers to one that does not exist. A feed is
crawled in three steps, each of which finds a section.
"""

from collections.abc import AsyncIterator

from detent import Done, Embedding, Handler, Item, NewItem, Node, Outcome, Reference, Skipped, Source, Step
from detent.lifecycle import CRAWL, NODE

LOST, FLAKY, SHORT = "page 03", "page 05", "page 02#1"


async def parse(item: Item) -> Outcome:
    if item.key == LOST:
        raise FileNotFoundError(item.key)
    if item.key == FLAKY and item.attempt == 1:
        raise ConnectionError("not now")
    sections = [NewItem(f"{item.key}#{number}", "Section", state="linked") for number in range(int(item.key[-1]) % 3)]
    node = Node(item.key.title(), f"All about {item.key}.", {"sections": len(sections)}, f"hash of {item.key}")
    return Done(node=node, references=[], found=sections, checkpoint={"parsed": item.key})


def link(item: Item) -> Outcome:
    following = f"page {int(item.key[-2:]) + 1:02}"
    return Done(
        references=[Reference("next", "Page", following), Reference("part", "Section", f"{item.key}#0")],
        checkpoint={**(item.checkpoint or {}), "linked": following},
    )


async def embed(items: list[Item]) -> list[Outcome]:
    return [_embedded(item) for item in items]


def _embedded(item: Item) -> Outcome:
    if item.key == SHORT:
        return Skipped("too short")
    if item.label == "Section":
        return Done(node=Node(item.key, "A part."), content_hash=f"embedded {item.key}")
    return Done(note="embedded", embedding=Embedding("workshop", "small", f"hash of {item.key}"))


async def crawl(item: Item) -> AsyncIterator[Step | Done]:
    for page in range((item.checkpoint or {}).get("page", 0) + 1, 4):
        found = NewItem(f"{item.key}#{page}", "Section", state="linked")
        yield Step(Node(item.key, f"{page} pages."), found=[found], checkpoint={"page": page}, note=f"page {page}")
    yield Done(content_hash=f"hash of {item.key}")


SOURCES = [
    Source(
        "library",
        {"Page": NODE, "Section": NODE, "Feed": CRAWL},
        [
            Handler("parsing", parse, label="Page"),
            Handler("linking", link),
            Handler("embedding", embed, batch=True),
            Handler("running", crawl),
            Handler("fetching", crawl),
        ],
    )
]
