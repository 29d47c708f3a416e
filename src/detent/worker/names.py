"""Names of those who hold work, as the journal shows them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from functools import cache
from pathlib import Path

_WORKER = re.compile(r"(?P<machine>[^:]+):(?P<process>\d+):(?P<here>[0-9a-f]{6})[0-9a-f]{6}")


def worker_name(process: int | None = None, role: str | None = None) -> str:
    """A name that no other worker has: machine, process, its role if it has one, some letters that stand for what can
    see the process, and a few random ones."""
    letters = f"{_here()}{secrets.token_hex(3)}"
    return f"{socket.gethostname()}:{process or os.getpid()}:{f'{role}-{letters}' if role else letters}"


def is_dead(name: str) -> bool:
    """Tell whether the worker of this name was a process visible from here, and has ended. False for a name with a
    role: another process may take over what it holds."""
    found = _WORKER.fullmatch(name)
    if found is None or (found["machine"], found["here"]) != (socket.gethostname(), _here()):
        return False
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@cache
def _here() -> str:
    """Letters that two processes have in common only if they see each other: the machine has not been started anew
    between them, and both are in the same container, if in any."""
    seen = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"), Path("/proc/self/ns/pid").readlink()
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:6]
