"""What something takes: its time from start to end, and the processor time of its processes and of the server."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import psutil
import psycopg

LEAVE_SECONDS = 0.5
"""How long the server's processes have to end after their clients; what they used is known by then."""


@dataclass
class Taken:
    """Seconds from start to end; of the processor in the processes that were started and in all that those started; and
    of the processor in the server, 0 where the server is not on this machine."""

    seconds: float = 0.0
    processor: float = 0.0
    server: float = 0.0


def middle(of: Sequence[Taken]) -> Taken:
    """The median of each."""
    return Taken(
        median(taken.seconds for taken in of),
        median(taken.processor for taken in of),
        median(taken.server for taken in of),
    )


@contextmanager
def taking(conninfo: str) -> Iterator[Taken]:
    """What is done in the block, in processes that have ended when it ends; it is told at its end."""
    taken = Taken()
    server = _server(conninfo)
    began = time.perf_counter(), _processor(), _processor_of(server)
    yield taken
    seconds = time.perf_counter()
    time.sleep(LEAVE_SECONDS)
    ended = seconds, _processor(), _processor_of(server)
    taken.seconds, taken.processor, taken.server = (after - before for after, before in zip(ended, began, strict=True))


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _server(conninfo: str) -> psutil.Process | None:
    """The process that starts all others of the server. Only a socket tells that it runs on this machine."""
    with psycopg.connect(conninfo) as connection:
        if not connection.info.host.startswith("/"):
            return None
        return psutil.Process(connection.info.backend_pid).parent()


def _processor_of(server: psutil.Process | None) -> float:
    """What the server and its processes have used, with those that have ended."""
    if server is None:
        return 0.0
    own = server.cpu_times()
    used: float = own.user + own.system + own.children_user + own.children_system
    for process in server.children():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # it has ended just now, and is hardly missed
            continue
        used += times.user + times.system
    return used
