"""Names of those who hold work, as the journal shows them."""

from __future__ import annotations

import os
import secrets
import socket


def worker_name(process: int | None = None, role: str | None = None) -> str:
    """A name that no other worker has: machine, process, its role if it has one, and a few random letters."""
    letters = secrets.token_hex(3)
    return f"{socket.gethostname()}:{process or os.getpid()}:{f'{role}-{letters}' if role else letters}"
