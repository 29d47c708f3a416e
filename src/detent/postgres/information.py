"""Facts about a project's server, found without touching it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from detent.postgres import binaries, cluster, faults
from detent.postgres.locks import holders, noted_process
from detent.postgres.place import Place, find, lock_path
from detent.postgres.server import listening
from detent.postgres.shutdown import postmaster


@dataclass(frozen=True)
class ServerInfo:
    """A snapshot of a project's server."""

    running: bool
    pid: int | None = None
    version: str | None = None
    data_folder: Path | None = None
    socket_folder: Path | None = None
    size_bytes: int = 0
    users: tuple[int, ...] = ()
    held: bool = False


def describe(folder: Path) -> ServerInfo:
    """Look at a project's server without starting anything."""
    folder = folder.resolve()
    try:
        place = find(folder)
        return _describe(place) if place else ServerInfo(running=False)
    except OSError as error:
        raise faults.of_system(error, folder) from error


def _describe(place: Place) -> ServerInfo:
    pid = postmaster(place.data)
    users = holders(lock_path(place.folder, "users"))
    holder = noted_process(lock_path(place.folder, "holder"))
    return ServerInfo(
        running=pid is not None,
        pid=pid,
        version=_version(place.data),
        data_folder=place.data,
        socket_folder=listening(place) or place.socket_folder,
        size_bytes=sum(_sizes(place.data)),
        users=tuple(user for user in users if user != holder),
        held=holder in users,
    )


def _version(data: Path) -> str | None:
    major = cluster.made_by(data)
    return next((each.version for each in binaries.installed() if str(each.major) == major), major)


def _sizes(folder: Path) -> Iterator[int]:
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(f"{path}/{name}").st_blocks * 512
            except FileNotFoundError:  # a running server removes files
                continue
