"""The warden: stops the server when its last user has left. Run as a script, in the `.detent` folder.

It waits in one `flock` call, at no cost, until nobody shares `users.lock`. A user that arrives after that waits
for the warden, and then starts the server again. The warden is started with `warden.lock` already held, and
releases it first, so that a new user sees that it has to start another warden.

It imports only what a bare interpreter has, and its paths are relative, so that a project may move while it runs.
"""

import contextlib
import fcntl
import os
import signal
import sys
import time
from pathlib import Path

ORPHANS_MAY_STAY_S = 5.0
KILLED_MAY_STAY_S = 30.0
_PAUSE_S = 0.02


def postmaster(data: Path) -> int | None:
    """Return the process serving a data folder. A number that now belongs to another process does not count."""
    try:
        with (data / "postmaster.pid").open(errors="replace") as file:
            pid = int(file.readline())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return pid if pid > 0 and lives_in(pid, data) else None


def lives_in(pid: int, data: Path) -> bool:
    """True if a process works in that data folder, as every process of its server does."""
    try:
        return data.samefile(f"/proc/{pid}/cwd")
    except OSError:
        return False


def shut_down(data: Path, lock: int) -> bool:
    """End the server at once but in order, wait for all its processes, and then hold `server.lock`.

    Processes that a killed server left behind end by themselves as soon as they notice. One that does not is
    killed: nothing it does can be answered, and recovery treats it like a power cut. False if there was nothing to
    end.
    """
    told, without_server = None, time.monotonic()
    while (pid := postmaster(data)) is not None or not _take(lock):
        if pid is None:
            outlast(data, time.monotonic() - without_server)
        else:
            without_server = time.monotonic()
            if pid != told:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)
        told = pid or told or 0
        time.sleep(_PAUSE_S)
    return told is not None


def outlast(data: Path, waited_s: float) -> None:
    """Deal with the remains of a killed server: wait at first, and kill them after this long."""
    if waited_s > ORPHANS_MAY_STAY_S:
        kill_all_in(data)
    if waited_s > ORPHANS_MAY_STAY_S + KILLED_MAY_STAY_S:
        raise TimeoutError(f"a process that cannot be seen from here uses {data}")


def kill_all_in(data: Path) -> None:
    """Kill every process that works in a data folder."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and lives_in(int(process.name), data):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)


def main(short_socket_folder: str, own_lock: str) -> None:
    """Wait for the last user to leave, and stop the server."""
    users, start, server = (os.open(f"locks/{name}.lock", os.O_RDWR) for name in ("users", "start", "server"))
    fcntl.flock(users, fcntl.LOCK_EX)
    fcntl.flock(start, fcntl.LOCK_EX)
    pointer = Path("place")
    home = Path(pointer.read_text().rstrip("\n")) if pointer.exists() else Path()
    shut_down(home / "data", server)
    for folder in (home / "socket", Path(short_socket_folder)):
        with contextlib.suppress(OSError):
            folder.rmdir()
    os.close(int(own_lock))


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
