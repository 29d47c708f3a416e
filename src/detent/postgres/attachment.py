"""Using the server: the first user starts it, and it stops when the last one has left."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from detent.errors import ServerFailed
from detent.postgres import faults, log, process, server
from detent.postgres.folder import make_folder, make_project_folder
from detent.postgres.locks import Lock, Share, noted_process
from detent.postgres.place import Place, find, lock_path, settle
from detent.postgres.shutdown import shut_down

_MAY_LINGER_S = 10.0


class Attachment:
    """One user of the server, for as long as it is open and its process lives.

    A forked child is no user: its copy is closed, and `conninfo` works there while the parent is attached. A child
    that may outlive its parent attaches itself. A process may attach any number of times, to start a server that
    has ended.
    """

    def __init__(self, conninfo: str, user: Share) -> None:
        self.conninfo = conninfo
        self._user = user

    def close(self) -> None:
        """Leave. The server stops a moment later if this was its last user."""
        self._user.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def attach(folder: Path) -> Attachment:
    """Join the users of the server in a project's `.detent` folder, and start the server if it does not run."""
    folder = folder.absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_project_folder(folder)
        folder = folder.resolve()
        make_folder(folder / "locks", 0o700)
        user = Share(lock_path(folder, "users"))
        try:
            with Lock(lock_path(folder, "start")) as start:
                start.take()
                return Attachment(_bring_up(folder), user)
        except BaseException:
            user.close()
            raise
    except OSError as error:
        raise faults.of_system(error, folder) from error


def hold(folder: Path) -> None:
    """Keep the server up after this process has ended, until `stop`."""
    with attach(folder):
        folder = folder.resolve()
        with Lock(lock_path(folder, "start")) as start, Lock(lock_path(folder, "holder")) as holder:
            start.take()
            if holder.try_take():
                _leave_holder(folder, holder)


def stop(folder: Path) -> bool:
    """End the holder and the server, even if others use it. False if no server ran."""
    folder = folder.resolve()
    if not lock_path(folder, "start").exists():
        return False
    try:
        with Lock(lock_path(folder, "start")) as start, Lock(lock_path(folder, "server")) as lock:
            start.take()
            for name in ("holder", "warden"):
                _end(folder, name)
            place = find(folder)
            return place is not None and _stop_server(place, lock)
    except OSError as error:
        raise faults.of_system(error, folder) from error


def _bring_up(folder: Path) -> str:
    """Start what is missing, and return the connection string."""
    place = find(folder) or settle(folder)
    log.bound(place.log)
    _ensure_warden(folder, place)
    return server.ensure(folder)


def _ensure_warden(folder: Path, place: Place) -> None:
    """Start a warden unless one is alive. It comes before the server, so that no server is without one."""
    with Lock(lock_path(folder, "warden")) as lock:
        if not lock.try_take():
            return
        with Lock(lock_path(folder, "server")):
            pass  # the warden opens it
        arguments = (str(place.socket_folder), str(lock.fileno()))
        process.leave_script("shutdown.py", arguments, folder=folder, lock=lock.fileno(), output=subprocess.DEVNULL)


def _leave_holder(folder: Path, lock: Lock) -> None:
    """Start the holder, and wait until it is a user of the server."""
    ours, its = os.pipe()
    try:
        process.leave_script("holder.py", (), folder=folder, lock=lock.fileno(), output=its)
    finally:
        os.close(its)
    with os.fdopen(ours, "rb") as said:
        if not said.readline().startswith(b"holding"):
            raise ServerFailed(f"The process that keeps the server in {folder} up has ended. Try again.")


def _stop_server(place: Place, lock: Lock) -> bool:
    try:
        ran = shut_down(place.data, lock.fileno())
    except TimeoutError as error:
        raise ServerFailed(
            f"The server in {place.folder} does not end: {error}. "
            "Look for PostgreSQL in other containers that use this folder, and end it."
        ) from error
    with contextlib.suppress(OSError):  # it may be gone
        place.socket_folder.rmdir()
    return ran


def _end(folder: Path, name: str) -> None:
    """Kill the process that holds one of the locks, if there is one."""
    path = lock_path(folder, name)
    deadline = time.monotonic() + _MAY_LINGER_S
    with Lock(path) as lock:
        while not lock.try_take():
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"The {name} of the server in {folder} does not end; it may be another user's. "
                    "Run the command as that user or as root."
                )
            pid = noted_process(path)
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
