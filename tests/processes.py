"""Processes that tests start, with all that those have started, some of it in sessions of its own."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psutil

_PATIENCE_SECONDS = 120.0


def family(process: subprocess.Popen[Any]) -> list[psutil.Process]:
    """A process and all that it has started; nobody, if it has ended."""
    with suppress(psutil.NoSuchProcess):
        if process.poll() is None:
            first = psutil.Process(process.pid)
            return [first, *first.children(recursive=True)]
    return []


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process with its family, and wait until none of them does anything any more. It is stopped first, so that
    it starts nobody meanwhile."""
    process.send_signal(signal.SIGSTOP)
    everyone = family(process)
    for each in everyone:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()
    _wait_for(everyone)


def _wait_for(killed: Sequence[psutil.Process]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not all(map(_has_ended, killed)):
        assert time.monotonic() < deadline, f"These were killed and are still there: {killed}"
        time.sleep(0.005)


def _has_ended(process: psutil.Process) -> bool:
    """Nobody may have taken notice of its end: not every machine's first process looks after orphans."""
    try:
        ended: bool = process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    return ended
