"""Detent for Python programs: `detent.open()` for scripts, `detent.open_async()` for services.

Both give the same verbs over the same store. The first is the second, run in a thread of its own.
"""

from detent.application.asynchronous import AsyncDetent, open_async
from detent.application.synchronous import Detent, open  # noqa: A004  detent.open() reads well, like gzip.open()

__all__ = ["AsyncDetent", "Detent", "open", "open_async"]
