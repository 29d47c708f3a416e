"""Folders of real files: Markdown that npm packages bring along, and Python as it is installed on this machine.

A folder that the environment names is taken instead, and nothing is written there. One that is made here is kept under
`build/`, so that the next run has the same files. Hidden files and symbolic links are never among them: programs do not
agree on whether to take those.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import figures

PACKAGE = "gatsby@5.16.1"
"""A package of npm that needs more than a thousand others, most of which have a README and a change log."""
INSTALLATIONS = (
    Path(sys.base_prefix),
    Path(sys.prefix) / "lib",
    Path("/usr/lib/python3"),
    *sorted(Path("/usr/lib").glob("python3.*")),
    Path.home() / ".pyenv",
    Path("/usr/lib/google-cloud-sdk"),
)


def markdown() -> list[Path]:
    """Markdown files, from the folder that BENCH_MARKDOWN names or from installed packages."""
    given = os.environ.get("BENCH_MARKDOWN")
    return files(Path(given) if given else _kept("markdown", _install_markdown), ".md")


def python() -> list[Path]:
    """Python files, no two alike, from the folder that BENCH_PYTHON names or from what is installed."""
    given = os.environ.get("BENCH_PYTHON")
    return files(Path(given) if given else _kept("python", _collect_python), ".py")


def files(folder: Path, ending: str) -> list[Path]:
    """The files with this ending, in the same order each time."""
    found = (path for path in folder.rglob(f"*{ending}") if path.is_file() and not path.is_symlink())
    return sorted(path for path in found if not _is_hidden(path.relative_to(folder)))


def sample(files: Sequence[Path], count: int) -> list[Path]:
    """So many files, of all sizes alike: by size, one out of each of `count` equal shares, so that samples of different
    numbers have the same mean size. Purely random ones differ by a fifth, since few large files have most of the bytes.
    """
    if count >= len(files):
        return list(files)
    by_size = sorted(files, key=lambda path: (path.stat().st_size, path))
    share = len(files) / count
    choice = random.Random(count)
    return [by_size[int((number + choice.random()) * share)] for number in range(count)]


@contextmanager
def copied(files: Sequence[Path]) -> Iterator[Path]:
    """A folder with a copy of these files, as old as the originals, and written to disk before anything is measured."""
    figures.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=figures.FOLDER) as folder:
        base = Path(os.path.commonpath([path.parent for path in files])) if files else Path()
        for path in files:
            _copy(path, Path(folder) / "files" / path.relative_to(base))
        (Path(folder) / "files").mkdir(exist_ok=True)
        os.sync()
        yield (Path(folder) / "files").absolute()


def megabytes(files: Sequence[Path]) -> float:
    return sum(path.stat().st_size for path in files) / 1e6


def _kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name under `build/`; it is made where it is missing, and is there only as a whole."""
    folder = figures.FOLDER / name
    if not folder.exists():
        figures.FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=figures.FOLDER) as unfinished:
            make(Path(unfinished) / name)
            (Path(unfinished) / name).rename(folder)
    return folder


def _install_markdown(folder: Path) -> None:
    """Install the package without running anything that it brings, and keep the Markdown of it."""
    with tempfile.TemporaryDirectory(dir=figures.FOLDER) as prefix:
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", prefix, PACKAGE]
        subprocess.run(npm, check=True)
        installed = Path(prefix) / "node_modules"
        for path in files(installed, ".md"):
            _copy(path, folder / path.relative_to(installed))


def _collect_python(folder: Path) -> None:
    seen: set[bytes] = set()
    for number, root in enumerate(INSTALLATIONS):
        for path in files(root, ".py"):
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                _copy(path, folder / f"{number}-{root.name.strip('.')}" / path.relative_to(root))


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, to)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
