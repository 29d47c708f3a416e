"""The values that the verbs take and return, from whichever room they come. Each is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.application.adding import AddedSource, ListedType
    from detent.application.database import Checked, DatabaseInfo, Pruned, StoppedServer, Upgraded
    from detent.application.expansions import ExpansionStatus, StaleClaim, StateShare
    from detent.application.items import Moved
    from detent.application.lifecycles import ShownLifecycle, ShownMove, ShownState
    from detent.application.migrating import Migrated, Problem
    from detent.application.projects import MadeProject, ShownSetting, ShownSettings
    from detent.application.running.report import Left, Report
    from detent.application.sources import ListedSource, SourceLabel
    from detent.application.standing import LabelStatus, StateStatus
    from detent.application.status import ErrorGroup, SourceStatus, Status
    from detent.application.steering import Found
    from detent.search import Answer, Hit, Suggestion
    from detent.sources.options import Option
    from detent.sources.types import SourceType
    from detent.store import Entry, Holder, Kind, Listed, Page, Receipt, Settled, Story, Tally
    from detent.store.exchange import Digest, Loaded
    from detent.store.graph import Content, Direction, Edge, GraphPath, NamedNode, Neighbour, Neighbours, Subgraph
    from detent.store.ledger.listing import Text
    from detent.store.ledger.pacing import Held
    from detent.store.ledger.steering import ItemRecord, Remark
    from detent.store.vectors.models import Model
    from detent.worker.recruit import Recruit

_HOMES = (
    "detent.application.adding",
    "detent.application.database",
    "detent.application.expansions",
    "detent.application.items",
    "detent.application.lifecycles",
    "detent.application.migrating",
    "detent.application.projects",
    "detent.application.running.report",
    "detent.application.sources",
    "detent.application.standing",
    "detent.application.status",
    "detent.application.steering",
    "detent.sources.options",
    "detent.sources.types",
    "detent.store",
    "detent.store.exchange",
    "detent.store.graph",
    "detent.store.ledger.listing",
    "detent.store.ledger.pacing",
    "detent.store.ledger.steering",
    "detent.store.vectors.models",
    "detent.worker.recruit",
    "detent.search",
)
"""The modules of these names; the last one is slow to import."""

__all__ = [
    "AddedSource",
    "Answer",
    "Checked",
    "Content",
    "DatabaseInfo",
    "Digest",
    "Direction",
    "Edge",
    "Entry",
    "ErrorGroup",
    "ExpansionStatus",
    "Found",
    "GraphPath",
    "Held",
    "Hit",
    "Holder",
    "ItemRecord",
    "Kind",
    "LabelStatus",
    "Left",
    "Listed",
    "ListedSource",
    "ListedType",
    "Loaded",
    "MadeProject",
    "Migrated",
    "Model",
    "Moved",
    "NamedNode",
    "Neighbour",
    "Neighbours",
    "Option",
    "Page",
    "Problem",
    "Pruned",
    "Receipt",
    "Recruit",
    "Remark",
    "Report",
    "Settled",
    "ShownLifecycle",
    "ShownMove",
    "ShownSetting",
    "ShownSettings",
    "ShownState",
    "SourceLabel",
    "SourceStatus",
    "SourceType",
    "StaleClaim",
    "StateShare",
    "StateStatus",
    "Status",
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
