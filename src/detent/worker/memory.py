"""How a process that does nothing but work treats its memory."""

import gc

_YOUNG = 50_000


def collect_seldom() -> None:
    """Let the collector leave what is loaded alone, and look at what is new after a few batches, not in each.

    Items and outcomes refer to nothing that refers back, so they go by themselves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
