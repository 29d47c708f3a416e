"""The specification of a worker or keeper process, one line of JSON on its standard input; and the exit statuses
of a worker."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

RETIRED = 75
"""The exit status of a worker that wants to be replaced."""

ORPHANED = 76
"""The exit status of a worker that could not stop in time after its crew had died."""


@dataclass(frozen=True)
class Spec:
    """`root` is the project's folder; `flags` are the settings given on the command line. A `replacement` is started
    by its crew in the place of a worker that has ended, and not because somebody asked for it.

    `server` is the folder of the project's own database, where that is used: each process attaches to it, so
    that it stays up for the last of them.
    """

    conninfo: str
    owner: str
    board: int
    lifeline: int
    parent: int = field(default_factory=os.getpid)
    server: str | None = None
    root: str | None = None
    flags: dict[str, object] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    until_idle: bool = False
    wait_for_later: bool = True
    replacement: bool = False
    lease_seconds: float = 300.0
    retention_days: int | None = None
    policies: dict[str, tuple[int, float, float]] = field(default_factory=dict)

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def read_spec(line: str) -> Spec:
    return Spec(**json.loads(line))
