"""Lifecycles: the states of an item and the moves between them, as plain tables.

A lifecycle is a list of rows (state, event, next state). Everything else follows from these rows: the states that
wait for work, the states that mean work under way, the ends of failure, the legal moves.

Nothing outside this package knows which move is legal, and nothing inside it touches a database, a clock or the
network: an error and an attempt come in as values, and a decision goes out as a value.
"""

from detent.lifecycle.builtin import ARTICLE, BUILTIN, CRAWL, NODE, PASSAGE, SIMPLE, TOPIC, crawl
from detent.lifecycle.diagram import document, mermaid
from detent.lifecycle.moves import Event, Move
from detent.lifecycle.retry import Again, Decision, Fate, GiveUp, RetryPolicy, after_death, decide, retry_after_seconds
from detent.lifecycle.table import Lifecycle, Path
from detent.lifecycle.trouble import Trouble, classify

__all__ = [
    "ARTICLE",
    "BUILTIN",
    "CRAWL",
    "NODE",
    "PASSAGE",
    "SIMPLE",
    "TOPIC",
    "Again",
    "Decision",
    "Event",
    "Fate",
    "GiveUp",
    "Lifecycle",
    "Move",
    "Path",
    "RetryPolicy",
    "Trouble",
    "after_death",
    "classify",
    "crawl",
    "decide",
    "document",
    "mermaid",
    "retry_after_seconds",
]
