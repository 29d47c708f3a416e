"""Names of workers, as the journal shows them."""

from __future__ import annotations

import os
import secrets
import socket


def worker_name(process: int | None = None) -> str:
    """A name that no other worker has: machine, process, and a few random letters."""
    return f"{socket.gethostname()}:{process or os.getpid()}:{secrets.token_hex(3)}"
