"""What the interfaces are given, and the name under which they hold work."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from detent.store import Store

T = TypeVar("T")


class HasStore(Protocol):
    @property
    def store(self) -> Store: ...


class Opened(Protocol):
    """What `detent.open()` returns, as far as the interfaces use it. They are below it and cannot import it."""

    @property
    def asynchronous(self) -> HasStore: ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T: ...


def holder_name(interface: str) -> str:
    """A name that no other holder of work has: machine, process, interface and a few random letters."""
    return f"{socket.gethostname()}:{os.getpid()}:{interface}-{secrets.token_hex(3)}"
