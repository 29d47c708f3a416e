"""Detent for Python programs: `detent.open()` for scripts, `detent.open_async()` for services.

Both have the same verbs. The first is generated from the second, and runs it in a thread of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.application.asynchronous import AsyncDetent, open_async
    from detent.application.synchronous import Detent, open  # noqa: A004  detent.open() reads well, like gzip.open()

__all__ = ["AsyncDetent", "Detent", "open", "open_async"]


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first used: whoever only looks at the database needs no workers."""
    if name not in __all__:
        raise AttributeError(f"module 'detent.application' has no attribute {name!r}")
    home = "synchronous" if name in ("Detent", "open") else "asynchronous"
    return globals().setdefault(name, getattr(import_module(f"detent.application.{home}"), name))
