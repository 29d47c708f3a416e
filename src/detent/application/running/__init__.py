"""Running: one implementation behind `detent run`, `detent watch`, `detent work` and `db.run()`.

A run (`run`) finds out which sources there are (`declared`), asks them what there is (`asking`), and has workers do it
in a shift (`shift`), in this process or in several. While it goes on it tells news (`news`), among them how far each
stage is (`stages`), and it ends with a report (`report`, `ending`). It is stopped in two steps, gently and at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.application.running.verbs import RunVerbs

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from detent.worker.recruit import Recruit

__all__ = ["RunVerbs", "recruiting"]


def recruiting() -> AbstractAsyncContextManager[list[Recruit]]:
    """Start a worker process before it is known what there is to do; `run` takes it."""
    from detent.worker.recruit import recruiting

    return recruiting()
