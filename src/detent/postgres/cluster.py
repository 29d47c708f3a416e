"""PostgreSQL's data folder: made whole or not at all, and never removed once it was whole."""

import os
import shutil
import tempfile
from pathlib import Path

from detent.errors import DataDamaged
from detent.postgres import faults, process
from detent.postgres.binaries import Binaries
from detent.postgres.place import Place, private_folder

USER = DATABASE = "detent"

_OPTIONS = (
    f"--username={USER}",
    "--encoding=UTF8",
    "--data-checksums",
    "--auth-local=trust",  # the socket's folder is private
    "--auth-host=reject",
    "--no-instructions",
    "--set=dynamic_shared_memory_type=mmap",  # within the folder, so that a failure leaves nothing elsewhere
)
_UNFINISHED = "data.new-"
_MADE_BY_INITDB = {"PG_VERSION", "base", "global", "postgresql.conf", "postgresql.auto.conf"}


def made_by(data: Path) -> str | None:
    """The version that made a data folder, `18` for instance; nothing if there is none yet."""
    try:
        return (data / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def clear_unfinished(place: Place) -> None:
    """Removes what a killed initialisation has left, and refuses data that was whole and is not any more."""
    for leftover in place.home.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover)
    if not place.data.exists():
        return
    if _never_was_whole(place.data):
        shutil.rmtree(place.data)
        return
    for part in ("PG_VERSION", "global/pg_control"):
        if not (place.data / part).exists():
            raise DataDamaged(place.data, part)


def make(place: Place, binaries: Binaries, lock: int) -> None:
    """Makes a data folder with its database in a folder beside it, and gives it its name when it is whole."""
    unfinished = Path(tempfile.mkdtemp(dir=place.home, prefix=_UNFINISHED))
    try:
        private_folder(unfinished, place.account)
        _initialise(place, binaries, unfinished, lock)
        _make_database(place, binaries, unfinished, lock)
        unfinished.rename(place.data)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    folder = os.open(place.home, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def locale_options(major: int) -> list[list[str]]:
    """How to ask for text that sorts by code point and changes case in all alphabets, the best way first.

    From 17 on PostgreSQL brings such a locale itself; before, the system's C.UTF-8 has to do, where it
    exists.
    """
    if major >= 17:
        return [["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]]
    return [["--locale=C.UTF-8"], ["--locale=C"]]


def _initialise(place: Place, binaries: Binaries, data: Path, lock: int) -> None:
    said = ""
    for locale in locale_options(binaries.major):
        command = [binaries.program("initdb"), f"--pgdata={data}", *_OPTIONS, *locale]
        ended = process.run(command, place.account, folder=place.home, lock=lock)
        if ended.returncode == 0:
            return
        said = ended.stdout
        if "invalid locale" not in said:
            break
    raise faults.of_server("make a database", said, place.data, place.log)


def _make_database(place: Place, binaries: Binaries, data: Path, lock: int) -> None:
    command = [binaries.program("postgres"), "--single", "-D", str(data), "postgres"]
    feed = f"CREATE DATABASE {DATABASE};\n"
    ended = process.run(command, place.account, folder=place.home, lock=lock, feed=feed)
    if ended.returncode != 0 or "ERROR" in ended.stdout:
        raise faults.of_server("make a database", ended.stdout, place.data, place.log)


def _never_was_whole(data: Path) -> bool:
    """Whether it is what a killed `initdb` leaves: nothing of others, and no database but `template1`."""
    names = {path.name for path in data.iterdir()}
    if any(name not in _MADE_BY_INITDB and not name.startswith("pg_") for name in names):
        return False
    databases = {path.name for path in data.glob("base/*")}
    return databases == {"1"} or (not databases and not (data / "global/pg_control").exists())
