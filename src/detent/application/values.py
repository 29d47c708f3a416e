"""The values that the verbs take and return, from whichever room they come. Each is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.application.database import Checked, DatabaseInfo, Pruned, StoppedServer, Upgraded
    from detent.application.items import Moved
    from detent.application.lifecycles import ShownLifecycle, ShownMove, ShownState
    from detent.application.migrating import Migrated, Problem
    from detent.application.projects import MadeProject, ShownSetting, ShownSettings
    from detent.application.running import Report
    from detent.application.sources import ListedSource, SourceLabel
    from detent.application.steering import Found
    from detent.search import Answer, Hit, Suggestion
    from detent.store import Entry, Holder, Kind, Listed, Page, Receipt, Settled, Story, Tally
    from detent.store.exchange import Digest, Loaded
    from detent.store.graph import Content, Direction, Edge, GraphPath, NamedNode, Neighbour, Neighbours, Subgraph
    from detent.store.ledger.listing import Text
    from detent.store.ledger.steering import Progress, Remark

_HOMES = (
    "detent.application.database",
    "detent.application.items",
    "detent.application.lifecycles",
    "detent.application.migrating",
    "detent.application.projects",
    "detent.application.running",
    "detent.application.sources",
    "detent.application.steering",
    "detent.store",
    "detent.store.exchange",
    "detent.store.graph",
    "detent.store.ledger.listing",
    "detent.store.ledger.steering",
    "detent.search",
)
"""Where they come from; the last of these takes long to import."""

__all__ = [
    "Answer",
    "Checked",
    "Content",
    "DatabaseInfo",
    "Digest",
    "Direction",
    "Edge",
    "Entry",
    "Found",
    "GraphPath",
    "Hit",
    "Holder",
    "Kind",
    "Listed",
    "ListedSource",
    "Loaded",
    "MadeProject",
    "Migrated",
    "Moved",
    "NamedNode",
    "Neighbour",
    "Neighbours",
    "Page",
    "Problem",
    "Progress",
    "Pruned",
    "Receipt",
    "Remark",
    "Report",
    "Settled",
    "ShownLifecycle",
    "ShownMove",
    "ShownSetting",
    "ShownSettings",
    "ShownState",
    "SourceLabel",
    "StoppedServer",
    "Story",
    "Subgraph",
    "Suggestion",
    "Tally",
    "Text",
    "Upgraded",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            if hasattr(module := import_module(home), name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'detent.application.values' has no attribute {name!r}")
