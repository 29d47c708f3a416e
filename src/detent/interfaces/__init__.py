"""The Python interfaces that the documents behind Detent promise, under the documents' own names.

Each is the same engine seen through one document's words: it takes what `detent.open()` returns where the
document takes a database connection, and it writes through the store alone. Where a document's code is racy or
loses data, its promise is kept and its fault is not: what a worker claimed is leased to it, and whoever has
lost its claim is told so and writes nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.interfaces.article_loader import ArticleLoader, LinkDiscovery, initialize_seeds, process_article
    from detent.interfaces.brain_status import BrainStatus, ErrorGroup, get_brain_status
    from detent.interfaces.expansion_status import ExpansionStatus, StaleClaim, StateShare, get_expansion_status
    from detent.interfaces.node_state import VALID_TRANSITIONS, NodeStateInfo, Transition, TransitionOptions
    from detent.interfaces.node_state_machine import NodeStateMachine
    from detent.interfaces.orchestrator import FileChange, IngestionOrchestrator, IngestionStats
    from detent.interfaces.wikipedia_client import ArticleNotFound, WikipediaAPIClient, WikipediaArticle
    from detent.interfaces.work_queue_manager import NotAdvanced, NotHeld, WorkQueueManager

__all__ = [
    "VALID_TRANSITIONS",
    "ArticleLoader",
    "ArticleNotFound",
    "BrainStatus",
    "ErrorGroup",
    "ExpansionStatus",
    "FileChange",
    "IngestionOrchestrator",
    "IngestionStats",
    "LinkDiscovery",
    "NodeStateInfo",
    "NodeStateMachine",
    "NotAdvanced",
    "NotHeld",
    "StaleClaim",
    "StateShare",
    "Transition",
    "TransitionOptions",
    "WikipediaAPIClient",
    "WikipediaArticle",
    "WorkQueueManager",
    "get_brain_status",
    "get_expansion_status",
    "initialize_seeds",
    "process_article",
]

_HOMES = {
    "ArticleLoader": "article_loader",
    "ArticleNotFound": "wikipedia_client",
    "BrainStatus": "brain_status",
    "ErrorGroup": "brain_status",
    "ExpansionStatus": "expansion_status",
    "FileChange": "orchestrator",
    "IngestionOrchestrator": "orchestrator",
    "IngestionStats": "orchestrator",
    "LinkDiscovery": "article_loader",
    "NodeStateInfo": "node_state",
    "NodeStateMachine": "node_state_machine",
    "NotAdvanced": "work_queue_manager",
    "NotHeld": "work_queue_manager",
    "StaleClaim": "expansion_status",
    "StateShare": "expansion_status",
    "Transition": "node_state",
    "TransitionOptions": "node_state",
    "VALID_TRANSITIONS": "node_state",
    "WikipediaAPIClient": "wikipedia_client",
    "WikipediaArticle": "wikipedia_client",
    "WorkQueueManager": "work_queue_manager",
    "get_brain_status": "brain_status",
    "get_expansion_status": "expansion_status",
    "initialize_seeds": "article_loader",
    "process_article": "article_loader",
}


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first used, so that who needs one does not load what the others need."""
    if name in _HOMES:
        return globals().setdefault(name, getattr(import_module(f"detent.interfaces.{_HOMES[name]}"), name))
    raise AttributeError(f"module 'detent.interfaces' has no attribute {name!r}")
