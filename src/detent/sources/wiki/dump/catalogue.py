"""The place of each page of a file: a table that is built once, and of which a look-up reads no more than it
needs.

It has no titles, but a 64-bit digest of each, in order, with the places beside them: 16 bytes per page. Two titles
may have the same digest, so a page is only certain once it has been read.
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
"""Number of pages with the same digest that are read. There are several by accident, or if a title is repeated."""

_RUN = 1_000_000
_DIGITS = "<u8"

Numbers = npt.NDArray[np.uint64]
Pages = tuple[Sequence[bytes], Sequence[int]]
"""The titles of some pages, in UTF-8, and their places."""


def digests(titles: Iterable[bytes]) -> Numbers:
    """Return the digest of each title, given in UTF-8."""
    return np.frombuffer(b"".join([blake2b(title, digest_size=8).digest() for title in titles]), _DIGITS)


def encoded(title: str) -> bytes:
    """Return a title in the encoding of an index. A title with lone surrogates gets bytes that no index contains."""
    return title.encode(errors="surrogatepass")


class Catalogue:
    """The table of a file."""

    def __init__(self, table: npt.NDArray[Any]) -> None:
        self._digests, self._places = table

    def __len__(self) -> int:
        return len(self._digests)

    def places(self, titles: Sequence[str]) -> list[list[int]]:
        """Return the possible places of each title: none, one, or by accident several."""
        sought = digests(map(encoded, titles))
        first = np.searchsorted(self._digests, sought, "left")
        last = np.searchsorted(self._digests, sought, "right")
        ends = np.minimum(last, first + MOST_PLACES)
        return [self._places[start:end].tolist() for start, end in zip(first, ends, strict=True)]

    def every_place(self) -> list[int]:
        """Return all places in order, each once."""
        found: list[int] = np.unique(self._places).tolist()
        return found


def kept(path: Path, source: Path, pages: Callable[[], Iterable[Pages]]) -> Catalogue:
    """Return the table kept in a file. If there is none, one of the processes that need it builds it from these
    pages."""
    found = load(path)
    if found is not None:
        return found
    with artifacts.alone(path, source):
        found = load(path)
        return make(path, source, pages()) if found is None else found


def load(path: Path) -> Catalogue | None:
    """Return the table kept in a file; None if there is no valid one."""
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return Catalogue(table) if table.ndim == 2 and len(table) == 2 and table.dtype == _DIGITS else None


def make(path: Path, source: Path, pages: Iterable[Pages]) -> Catalogue:
    """Build the table of these pages, and keep it in a file."""
    runs = list(_runs(pages))
    count = sum(run.shape[1] for run in runs)
    with artifacts.made(path, source) as half, half.open("wb") as file:
        # not through a memory map: with one, a full disk would end the process
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
    """Yield the pages sorted by their digests, about a million at a time."""
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
    """Merge all runs into one, in portions of about the length of a run."""
    parts = len(runs)
    bounds = [2**64 * part // parts for part in range(1, parts)]
    cuts = [[0, *np.searchsorted(run[0], np.array(bounds, _DIGITS)), run.shape[1]] for run in runs]
    for part in range(parts):
        slices = [run[:, cut[part] : cut[part + 1]] for run, cut in zip(runs, cuts, strict=True)]
        yield _sorted(np.concatenate(slices, axis=1))


def _sorted(table: Numbers) -> Numbers:
    return table[:, np.argsort(table[0], kind="stable")]
