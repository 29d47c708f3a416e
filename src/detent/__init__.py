"""Detent turns sources into a knowledge graph and never loses its place."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.application import AsyncDetent, Detent, open_async
    from detent.application import open as open  # noqa: A004  like gzip.open()
    from detent.embedding import register as register_provider
    from detent.errors import DetentError, IllegalMove, LeaseLost
    from detent.knowledge import (
        Alias,
        Bounds,
        Child,
        Done,
        Embedding,
        Failed,
        Filters,
        Item,
        Mention,
        NewItem,
        Node,
        Outcome,
        Reference,
        Retry,
        Skipped,
        Step,
    )
    from detent.lifecycle import Lifecycle, RetryPolicy, Trouble
    from detent.search import Answer, Hit
    from detent.sources import Handler, Option, Source, SourceType

__version__ = "0.1.0"

__all__ = [
    "Alias",
    "Answer",
    "AsyncDetent",
    "Bounds",
    "Child",
    "Detent",
    "DetentError",
    "Done",
    "Embedding",
    "Failed",
    "Filters",
    "Handler",
    "Hit",
    "IllegalMove",
    "Item",
    "LeaseLost",
    "Lifecycle",
    "Mention",
    "NewItem",
    "Node",
    "Option",
    "Outcome",
    "Reference",
    "Retry",
    "RetryPolicy",
    "Skipped",
    "Source",
    "SourceType",
    "Step",
    "Trouble",
    "open_async",
    "register_provider",
]
"""What `from detent import *` gives: all but `open`, which would take the place of Python's own."""

_HOMES = ("search", "application", "errors", "knowledge", "lifecycle", "sources")


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first used, so that the command line starts quickly."""
    if name == "register_provider":
        return globals().setdefault(name, import_module("detent.embedding").register)
    if name in (*__all__, "open"):
        for home in reversed(_HOMES):
            module = import_module(f"detent.{home}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'detent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "open"]
