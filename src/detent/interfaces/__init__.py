"""The Python interfaces that the documents behind Detent promise, under the documents' own names.

Each is the same engine seen through one document's words: it takes what `detent.open()` returns where the
document takes a database connection, and it writes through the store alone. Where a document's code is racy or
loses data, its promise is kept and its fault is not: what a worker claimed is leased to it, and whoever has
lost its claim is told so and writes nothing.
"""

from detent.interfaces.article_loader import ArticleLoader, LinkDiscovery, initialize_seeds, process_article
from detent.interfaces.brain_status import BrainStatus, ErrorGroup, get_brain_status
from detent.interfaces.expansion_status import ExpansionStatus, StaleClaim, StateShare, get_expansion_status
from detent.interfaces.node_state import VALID_TRANSITIONS, NodeStateInfo, Transition, TransitionOptions
from detent.interfaces.node_state_machine import NodeStateMachine
from detent.interfaces.orchestrator import FileChange, IngestionOrchestrator, IngestionStats
from detent.interfaces.wikipedia_client import ArticleNotFound, WikipediaAPIClient, WikipediaArticle
from detent.interfaces.work_queue_manager import NotHeld, WorkQueueManager

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
