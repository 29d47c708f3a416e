"""PostgreSQL's data folder: created completely or not at all, and never removed once complete."""

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
    """Return the version that made a data folder, such as `18`; None if there is no data yet."""
    try:
        return (data / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def clear_unfinished(place: Place) -> None:
    """Remove the remains of a killed initialisation, and refuse data that is damaged."""
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
    """Create a data folder with its database in a folder beside it, and rename it when it is complete."""
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
    """Return the options for text that sorts by code point and changes case in all alphabets, the best first.

    From version 17 on PostgreSQL brings such a locale itself; before, it takes the system's C.UTF-8, if there is
    one.
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
    """True if the folder is what a killed `initdb` leaves: no files of others, and no database but `template1`."""
    names = {path.name for path in data.iterdir()}
    if any(name not in _MADE_BY_INITDB and not name.startswith("pg_") for name in names):
        return False
    databases = {path.name for path in data.glob("base/*")}
    return databases == {"1"} or (not databases and not (data / "global/pg_control").exists())
