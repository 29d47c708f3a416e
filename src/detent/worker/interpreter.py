"""Settings of the interpreter for a process that only works."""

import gc
import sys

_YOUNG = 50_000
_TURN_SECONDS = 0.0005


def prepare_for_work() -> None:
    """Let the loop have its turn soon beside handlers that compute, and garbage be looked for seldom."""
    sys.setswitchinterval(_TURN_SECONDS)
    _collect_seldom()


def _collect_seldom() -> None:
    """Let the collector leave what is loaded alone, and look at what is new after a few batches, not in each.

    Items and outcomes refer to nothing that refers back, so they go by themselves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
