"""Where each page of a file stands: a table that is made once, and of which no more is read than a look-up needs.

It holds no titles but 64 bits of a digest of each, in order, and the places beside them: 16 bytes for a page. Two
titles may have the same digest, so that a page is only known to be the right one when it has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from detent.sources.wiki.dump import artifacts

MOST_PLACES = 8
"""How many pages of the same digest are looked at. They are more than one by accident, or where a title is repeated."""

_RUN = 1_000_000
_DIGITS = "<u8"

Numbers = npt.NDArray[np.uint64]
Pages = tuple[Sequence[bytes], Sequence[int]]
"""The titles of some pages, in UTF-8, and their places."""


def digests(titles: Iterable[bytes]) -> Numbers:
    """Of each title, in UTF-8, a number that stands for it."""
    return np.frombuffer(b"".join([blake2b(title, digest_size=8).digest() for title in titles]), _DIGITS)


def encoded(title: str) -> bytes:
    """A title as it is written in an index, if it is one that can be written."""
    return title.encode(errors="surrogatepass")


class Catalogue:
    """The table of a file."""

    def __init__(self, table: npt.NDArray[Any]) -> None:
        self._digests, self._places = table

    def __len__(self) -> int:
        return len(self._digests)

    def places(self, titles: Sequence[str]) -> list[list[int]]:
        """Where each of the titles may stand: nowhere, at one place, or by accident at more than one."""
        sought = digests(map(encoded, titles))
        first = np.searchsorted(self._digests, sought, "left")
        last = np.searchsorted(self._digests, sought, "right")
        ends = np.minimum(last, first + MOST_PLACES)
        return [self._places[start:end].tolist() for start, end in zip(first, ends, strict=True)]

    def every_place(self) -> list[int]:
        """All places in their order, each once."""
        found: list[int] = np.unique(self._places).tolist()
        return found


def kept(path: Path, source: Path, pages: Callable[[], Iterable[Pages]]) -> Catalogue:
    """The table that is kept in a file. If there is none, it is made of these pages, by one of those who need it."""
    found = load(path)
    if found is not None:
        return found
    with artifacts.alone(path, source):
        found = load(path)
        return make(path, source, pages()) if found is None else found


def load(path: Path) -> Catalogue | None:
    """The table that is kept in a file; None if there is none, or something else."""
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return Catalogue(table) if table.ndim == 2 and len(table) == 2 and table.dtype == _DIGITS else None


def make(path: Path, source: Path, pages: Iterable[Pages]) -> Catalogue:
    """The table of these pages, kept in a file from now on."""
    runs = list(_runs(pages))
    count = sum(run.shape[1] for run in runs)
    with artifacts.made(path, source) as half, half.open("wb") as file:
        # not through a memory map: there, a full disk would end the process
        np.lib.format.write_array_header_1_0(file, {"descr": _DIGITS, "fortran_order": False, "shape": (2, count)})
        start, done = file.tell(), 0
        for digests, places in _merged(runs):
            file.seek(start + 8 * done)
            file.write(digests.tobytes())
            file.seek(start + 8 * (count + done))
            file.write(places.tobytes())
            done += len(digests)
    return Catalogue(np.load(path, mmap_mode="r", allow_pickle=False))


def _runs(pages: Iterable[Pages]) -> Iterator[Numbers]:
    """The pages by their digests, about a million at a time."""
    tables, count = [np.empty((2, 0), _DIGITS)], 0
    for titles, places in pages:
        tables.append(np.stack([digests(titles), np.array(places, _DIGITS)]))
        count += len(titles)
        if count >= _RUN:
            yield _sorted(np.concatenate(tables, axis=1))
            tables, count = [], 0
    if tables:
        yield _sorted(np.concatenate(tables, axis=1))


def _merged(runs: Sequence[Numbers]) -> Iterator[Numbers]:
    """All runs as one, in parts of about the length of a run."""
    parts = len(runs)
    bounds = [2**64 * part // parts for part in range(1, parts)]
    cuts = [[0, *np.searchsorted(run[0], np.array(bounds, _DIGITS)), run.shape[1]] for run in runs]
    for part in range(parts):
        slices = [run[:, cut[part] : cut[part + 1]] for run, cut in zip(runs, cuts, strict=True)]
        yield _sorted(np.concatenate(slices, axis=1))


def _sorted(table: Numbers) -> Numbers:
    return table[:, np.argsort(table[0], kind="stable")]
