"""The lifecycles that Detent's own sources follow."""

from collections.abc import Mapping
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
"""The part of a node's life that one has that came with another: its text and its links were written with it. One
without a text begins in `skip`."""

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


def _crawl(phases: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """The rows of a crawl whose work goes through `phases`, round and round, until nothing is left."""
    working = ("running", *phases)
    first, last = phases[0], phases[-1]
    steps = [(a, "step", b) for a, b in pairwise(working)]
    return [
        ("idle", "claim", "running"),
        *steps,
        (last, "step", first),
        (last, "done", "idle"),
        (last, "done", "completed"),
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


CRAWL = Lifecycle("crawl", initial="idle", moves=_crawl(("fetching", "processing", "saving")))

_ALL = (ARTICLE, NODE, PASSAGE, CRAWL, TOPIC)
BUILTIN: Mapping[str, Lifecycle] = MappingProxyType({table.name: table for table in _ALL})
