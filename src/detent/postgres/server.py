"""One project's PostgreSQL: checking that it runs, and starting it from whatever state it was left in."""

import logging
import os
import socket
import struct
import time
from pathlib import Path

from psycopg.conninfo import make_conninfo

from detent.errors import EmbeddedServerError, FolderUnusable, ServerFailed
from detent.postgres import binaries, cluster, faults, log, process, settings, shutdown
from detent.postgres.account import Account
from detent.postgres.locks import Lock
from detent.postgres.place import PORT, Place, find, is_private, lock_path, private_folder, settle, socket_in

PATIENCE_S = 600.0
_PAUSE_S = 0.01
_REPORT_AFTER_S = 3.0
SOCKET_MAY_HIDE_S = 20.0
_ANSWER_S = 5.0
_ASK_FOR_ENCRYPTION = struct.pack("!ii", 8, 80877103)  # the protocol's SSLRequest: answered before anything else
_SHARED_MEMORY_IN_USE = "pre-existing shared memory block"

logger = logging.getLogger(__name__)


def conninfo(socket_folder: Path, account: Account) -> str:
    """Return the connection string, which accepts only a server that runs under the account.

    Empty options keep the environment from leading elsewhere. Accounts are told apart by name; an account without
    a name is checked when the server is looked for.
    """
    return make_conninfo(
        host=str(socket_folder),
        hostaddr="",
        port=PORT,
        user=cluster.USER,
        dbname=cluster.DATABASE,
        requirepeer=account.known_name or "",
    )


def listening(place: Place) -> Path | None:
    """Return the folder of the socket on which the server takes connections; None if it does not, or not yet."""
    if shutdown.postmaster(place.data) is None:
        return None
    folders = (folder for folder in _socket_folders(place) if is_private(folder, place.account))
    return next((folder for folder in folders if _answers(folder, place.account)), None)


def ensure(folder: Path) -> str:
    """Start the server if it does not run, and return the connection string. Called under `start.lock`."""
    start = _Start(folder)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        ready = start.proceed()
        if ready is not None:
            return ready
        time.sleep(_PAUSE_S)
    raise ServerFailed(
        f"PostgreSQL has been starting in {folder} for {PATIENCE_S / 60:.0f} minutes and is not ready yet. "
        f"It was left running; run the command again later, and see {folder / 'server.log'}."
    )


class _Start:
    """A start under way: what was observed so far, and the next action."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._began = time.monotonic()
        self._log_start: int | None = None
        self._reported = False

    def proceed(self) -> str | None:
        """Return the connection string if the server is ready; otherwise take the next action."""
        place = find(self._folder)
        ready = listening(place) if place else None
        if place is not None and ready is not None:
            return conninfo(ready, place.account)
        if place is None or shutdown.postmaster(place.data) is None:
            with Lock(lock_path(self._folder, "server")) as lock:
                if lock.try_take():
                    self._launch(lock)
                elif place is not None and self._log_start is None:
                    self._outlast(place)
        else:
            self._look_for_socket(place)
        self._report()
        return None

    def _look_for_socket(self, place: Place) -> None:
        """Check the folder in which a ready server should listen, and give up after a while."""
        if not _socket_folders(place):
            return
        if os.path.lexists(place.socket_folder):
            private_folder(place.socket_folder, place.account)
        if self._waited_s() > SOCKET_MAY_HIDE_S:
            raise ServerFailed(
                f"PostgreSQL runs in {place.data}, but its socket cannot be reached any more. "
                "Run `detent db stop`, then the command again."
            )

    def _outlast(self, place: Place) -> None:
        """Deal with processes of a server that is gone. A server that this start launched may not have noted its
        number yet."""
        try:
            shutdown.outlast(place.data, self._waited_s())
        except TimeoutError as error:
            raise ServerFailed(
                f"PostgreSQL cannot be started in {place.folder}: {error}. "
                "Look for PostgreSQL in other containers that use this folder, and end it."
            ) from error

    def _launch(self, lock: Lock) -> None:
        """Start PostgreSQL; nothing of an earlier server is alive. If this start launched that one, it has failed."""
        if self._log_start is not None:
            error = self._failure(self._log_start)
            if error is not None:
                raise error
        place = settle(self._folder)
        cluster.clear_unfinished(place)
        programs = binaries.choose(place.data, cluster.made_by(place.data))
        programs = binaries.readable(programs, place.account)
        if not place.data.exists():
            cluster.make(place, programs, lock.fileno())
        self._log_start = launch(place, programs, lock.fileno())

    def _failure(self, log_start: int) -> EmbeddedServerError | None:
        place = settle(self._folder)
        said = log.since(place.log, log_start)
        if _SHARED_MEMORY_IN_USE in said:
            shutdown.kill_all_in(place.data)
            return None
        return faults.of_server("start", said, place.data, place.log)

    def _waited_s(self) -> float:
        return time.monotonic() - self._began

    def _report(self) -> None:
        if not self._reported and self._waited_s() > _REPORT_AFTER_S:
            self._reported = True
            logger.info("PostgreSQL is starting in %s; after a crash this can take minutes.", self._folder)


def launch(place: Place, programs: binaries.Binaries, lock: int) -> int:
    """Leave PostgreSQL starting, and return the position in the log where its output begins."""
    private_folder(place.socket_folder, place.account)
    forget_dead(place)
    log.bound(place.log)
    log_start = log.size_bytes(place.log)
    output = log.open_log(place.log)
    command = [programs.program("postgres"), "-D", str(place.data), *settings.arguments(place.socket_folder)]
    try:
        process.leave_server(command, place.account, folder=place.data, lock=lock, output=output)
    finally:
        os.close(output)
    return log_start


def forget_dead(place: Place) -> None:
    """Remove a dead server's notes, which name a process number that another process may have by now."""
    sock = socket_in(place.socket_folder)
    for path in (place.data / "postmaster.pid", sock, sock.with_name(f"{sock.name}.lock")):
        try:
            path.unlink(missing_ok=True)
        except IsADirectoryError as error:
            raise FolderUnusable(path, "a folder is in the place of a file") from error


def _socket_folders(place: Place) -> tuple[Path, ...]:
    """Return the folders where a server that has noted that it is ready may listen; the notes may be a dead one's.

    The second folder is the one in its notes, from before the project moved. It is trusted only if it is private
    to the account: the server's account could note any folder of the machine.
    """
    try:
        lines = (place.data / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    ready = len(lines) >= 8 and lines[7].strip() == "ready"
    return (place.socket_folder, Path(lines[4])) if ready else ()


def _answers(folder: Path, account: Account) -> bool:
    """True if a server of the account takes a connection and answers; processes left by a killed server keep its
    socket open."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_ANSWER_S)
            client.connect(os.fsencode(socket_in(folder)))
            if _account_of_peer(client) != account.uid:
                return False
            client.sendall(_ASK_FOR_ENCRYPTION)
            return client.recv(1) in (b"N", b"S")
    except OSError:
        return False


def _account_of_peer(client: socket.socket) -> int:
    """Return the number of the user who listens at the other end."""
    _, uid, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(uid)
