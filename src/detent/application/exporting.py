"""Writing the graph into files, and reading it back. A file has its name only when it is whole."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from detent.errors import FileDamaged, FormatMissing, UnknownName, Unwritable
from detent.projections import GraphML, Record, Writer
from detent.store import Store
from detent.store.exchange import Dump, Loaded, load
from detent.store.exchange.load import TellOf

Format = Literal["jsonl", "graphml", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

Written = Callable[[int], None]
"""Is told how many records are written."""

_BATCH_RECORDS = 1_000
_BATCH_LETTERS = 4_000_000
_OFTEN = 1_000
_GZIP = b"\x1f\x8b"


def format_of(target: Path | None, form: str | None) -> Format:
    """The format that is asked for, or the one that the file's name ends with; JSONL if it has no ending."""
    ending = target.suffix.lower() if target is not None else ""
    named = form if form is not None else ending.removeprefix(".") or "jsonl"
    for known in FORMATS:
        if known == named:
            return known
    listed = ", ".join(FORMATS)
    if form is not None:
        raise UnknownName(f"There is no format {form!r}. There are: {listed}.")
    raise UnknownName(f"{target} ends with {ending}, which is no format. Let it end with one, or name it: {listed}.")


async def export(
    store: Store,
    target: Path | BinaryIO,
    form: Format = "jsonl",
    *,
    source: str | None = None,
    tell: Written | None = None,
) -> int:
    """Write the graph into a file, a folder (Parquet) or a stream; returns how many records were written."""
    async with Dump.open(store.database, store.kinds, source) as dump:
        if form == "jsonl":
            with _stream(target) as stream:
                return await _write_lines(dump, stream, tell)
        with _writer(target, form) as writer:
            return await fill(dump, writer, tell)


async def fill(dump: Dump, writer: Writer, tell: Written | None = None) -> int:
    """Give a writer all nodes and edges; returns how many those are.

    It is always called in the same thread: memory that a thread has used is kept for it, and several would hold several
    times as much, the more of them the longer it takes.
    """
    written = 0
    in_thread = asyncio.get_running_loop().run_in_executor
    with ThreadPoolExecutor(max_workers=1) as thread:
        for records, write in ((dump.nodes(), writer.nodes), (dump.edges(), writer.edges)):
            async for batch in _batches(records):
                await in_thread(thread, write, batch)
                written += len(batch)
                if tell is not None:
                    tell(written)
        await in_thread(thread, writer.close)
    return written


async def import_file(store: Store, file: Path, tell: TellOf | None = None) -> Loaded:
    """Read in a file that was exported as JSONL; it may be compressed with gzip."""
    with _readable(file) as lines:
        async with store.database.connection() as connection:
            loaded = await load(connection, lines, tell=tell)
    await store.kinds.refresh()
    await store.notices.hint()
    return loaded


async def _write_lines(dump: Dump, stream: BinaryIO, tell: Written | None) -> int:
    written = 0
    async for line in dump.lines():
        stream.write(line)
        stream.write(b"\n")
        written += 1
        if tell is not None and not written % _OFTEN:
            tell(written)
    return written


async def _batches(records: AsyncIterator[dict[str, Any]]) -> AsyncIterator[list[Record]]:
    """Some records at a time: fewer, where their texts are long."""
    batch: list[Record] = []
    letters = 0
    async for record in records:
        batch.append(record)
        letters += len(record.get("text", ""))
        if len(batch) >= _BATCH_RECORDS or letters >= _BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


@contextlib.contextmanager
def _writer(target: Path | BinaryIO, form: Format) -> Iterator[Writer]:
    if form == "graphml":
        with _stream(target) as stream:
            yield GraphML(stream)
    elif isinstance(target, Path):
        with _parquet(target) as writer:
            yield writer
    else:
        raise Unwritable("Parquet is a folder with two files, and cannot be written into a stream. Name a folder.")


@contextlib.contextmanager
def _stream(target: Path | BinaryIO) -> Iterator[BinaryIO]:
    """A stream that becomes the file when all is written, and nothing otherwise."""
    if not isinstance(target, Path):
        yield target
        target.flush()
        return
    part = target.with_name(f"{target.name}.part")
    with _whole([(part, target)]), part.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextlib.contextmanager
def _parquet(folder: Path) -> Iterator[Writer]:
    try:
        from detent.projections.parquet import NAMES, Parquet
    except ModuleNotFoundError as error:
        raise FormatMissing("Parquet", "parquet", error) from None
    with _whole([(folder / f"{name}.part", folder / name) for name in NAMES]):
        folder.mkdir(exist_ok=True)
        yield Parquet(folder, ".part")


@contextlib.contextmanager
def _whole(files: list[tuple[Path, Path]]) -> Iterator[None]:
    """Give files their names at the end. If it does not come to that, what was written of them is removed."""
    try:
        yield
        for part, file in files:
            part.replace(file)
    except OSError as error:
        raise Unwritable(f"{error.filename or files[0][1]} cannot be written: {error.strerror}.") from error
    finally:
        for part, _ in files:
            with contextlib.suppress(OSError):
                part.unlink()


@contextlib.contextmanager
def _readable(file: Path) -> Iterator[Iterable[bytes]]:
    try:
        stream = file.open("rb")
    except OSError as error:
        raise UnknownName(f"{file} cannot be read: {error.strerror}.") from None
    with stream:
        if not stream.peek(2).startswith(_GZIP):
            yield stream
            return
        try:
            with gzip.open(stream) as unpacked:
                yield unpacked
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FileDamaged(file, error) from None
