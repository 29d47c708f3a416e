"""Workers: they move items from state to state, and can be killed at any moment.

A worker (`worker`) claims items, its hands (`hands`) call the handlers as tasks (`tasks`) or in threads
(`jobs`), its settler (`settler`) writes the outcomes. Beside it, in another process, its keeper (`keeper`)
renews the leases and gives up what hangs; the two share a board (`board`). A crew (`crew`) is several worker
processes (`process`), the first of which may have been started before (`recruit`), under one keeper, as the command
line runs them; a program that works by itself (`in_process`) has its keeper in a process beside it (`keeping`).
Nothing here knows SQL.
"""

from detent.worker.crew import Crew
from detent.worker.duty import declare
from detent.worker.in_process import work_here
from detent.worker.remaining import Remaining, is_all_done, remaining
from detent.worker.worker import Worker

__all__ = ["Crew", "Remaining", "Worker", "declare", "is_all_done", "remaining", "work_here"]
