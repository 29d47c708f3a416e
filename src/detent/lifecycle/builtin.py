"""The lifecycles of Detent's own sources."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from detent.lifecycle.table import Lifecycle

ARTICLE = Lifecycle(
    "article",
    initial="discovered",
    moves=[
        ("discovered", "claim", "claimed"),
        ("claimed", "done", "loaded"),
        ("claimed", "back", "discovered"),
        ("claimed", "fail", "failed"),
        ("loaded", "step", "processed"),
        ("loaded", "change", "discovered"),
        ("processed", "change", "discovered"),
        ("failed", "retry", "discovered"),
        ("failed", "change", "discovered"),
    ],
)

NODE = Lifecycle(
    "node",
    initial="pending",
    entries=["linked"],
    moves=[
        ("pending", "claim", "parsing"),
        ("pending", "skip", "skip"),
        ("parsing", "done", "parsed"),
        ("parsing", "back", "pending"),
        ("parsing", "fail", "error"),
        ("parsed", "claim", "linking"),
        ("parsed", "change", "pending"),
        ("linking", "done", "linked"),
        ("linking", "back", "parsed"),
        ("linking", "fail", "error"),
        ("linked", "claim", "embedding"),
        ("linked", "skip", "skip"),
        ("linked", "change", "pending"),
        ("embedding", "done", "ready"),
        ("embedding", "back", "linked"),
        ("embedding", "fail", "error"),
        ("ready", "change", "pending"),
        ("ready", "change", "linked"),
        ("skip", "change", "pending"),
        ("error", "retry", "pending"),
        ("error", "retry", "parsed"),
        ("error", "retry", "linked"),
        ("error", "change", "pending"),
    ],
    failure_kinds={"parsing": "parse", "linking": "link", "embedding": "embed"},
)

PASSAGE = Lifecycle(
    "passage",
    initial="linked",
    entries=["skip"],
    moves=[
        ("linked", "claim", "embedding"),
        ("linked", "skip", "skip"),
        ("embedding", "done", "ready"),
        ("embedding", "back", "linked"),
        ("embedding", "fail", "error"),
        ("ready", "change", "linked"),
        ("skip", "change", "linked"),
        ("error", "retry", "linked"),
        ("error", "change", "linked"),
    ],
    failure_kinds={"embedding": "embed"},
)
"""The part of a node's life that applies to a node written by another item: its text and its links are already
there. A node without text begins in `skip`."""

TOPIC = Lifecycle(
    "topic",
    initial="pending",
    moves=[
        ("pending", "claim", "in_progress"),
        ("in_progress", "done", "success"),
        ("in_progress", "back", "pending"),
        ("in_progress", "fail", "failed"),
        ("failed", "retry", "pending"),
        ("failed", "change", "pending"),
        ("success", "change", "pending"),
    ],
)


SIMPLE = Lifecycle(
    "simple",
    initial="waiting",
    moves=[
        ("waiting", "claim", "working"),
        ("working", "done", "worked"),
        ("working", "back", "waiting"),
        ("working", "fail", "failed"),
        ("worked", "claim", "embedding"),
        ("worked", "skip", "done"),
        ("worked", "change", "waiting"),
        ("embedding", "done", "done"),
        ("embedding", "back", "worked"),
        ("embedding", "fail", "failed"),
        ("done", "change", "waiting"),
        ("done", "change", "worked"),
        ("failed", "retry", "waiting"),
        ("failed", "retry", "worked"),
        ("failed", "change", "waiting"),
    ],
    failure_kinds={"embedding": "embed"},
)
"""The most common case: one handler does the work, then Detent embeds the text that it wrote."""


def crawl(name: str, phases: Sequence[str] = ("fetching", "processing", "saving")) -> Lifecycle:
    """Return the lifecycle of a crawl whose work repeats `phases` until nothing is left.

    A handler that works in `running` and in the first phase yields a `Step` for each page. A finished crawl is
    `completed`; `Done(to="idle")` begins the next pass at once.
    """
    return Lifecycle(name, initial="idle", moves=_crawl(tuple(phases)))


def _crawl(phases: tuple[str, ...]) -> list[tuple[str, str, str]]:
    working = ("running", *phases)
    first, last = phases[0], phases[-1]
    steps = [(a, "step", b) for a, b in pairwise(working)]
    return [
        ("idle", "claim", "running"),
        *steps,
        (last, "step", first),
        (last, "done", "completed"),
        (last, "done", "idle"),
        ("running", "done", "completed"),
        *[(state, "fail", "error") for state in working],
        *[(state, "pause", "paused") for state in ("idle", *working, "error", "resuming")],
        ("error", "retry", "resuming"),
        ("error", "step", "completed"),
        ("resuming", "claim", first),
        ("paused", "claim", "running"),
        ("paused", "resume", "idle"),
        ("completed", "change", "idle"),
    ]


CRAWL = crawl("crawl")

_ALL = (SIMPLE, ARTICLE, NODE, PASSAGE, CRAWL, TOPIC)
BUILTIN: Mapping[str, Lifecycle] = MappingProxyType({table.name: table for table in _ALL})
