"""CocoIndex over a folder of Markdown: chunks of at most 2,000 bytes with their vectors in a table of PostgreSQL.

Called again, it brings the table up to date. As its documentation shows it: a component per file, remembered by the
file's content; the splitter that knows Markdown; an embedder that remembers each text and is called with the texts of
many files at once; a table with a column of vectors, without an index. Its own state lies in the folder that is given.

Its best configuration, measured with version 1.0.26, 2,157 files and 9,388 chunks on two cores that others used as
well: the best time of a first run in seconds, and the least seconds of CPU, of one or two runs each (with others busy,
the same configuration took up to half as long again):

    as the example in its documentation: identifiers by IdGenerator, batches of 64       28.3 s   25.9 s
    identifiers by IdGenerator, vectors not remembered                                   21.7 s   24.6 s
    a key of file name and number instead of an identifier                               16.2 s   23.4 s
    that, and vectors not remembered                                                     14.4 s   20.6 s
    that, in batches of 256                                                              15.0 s   20.5 s
    that, in batches of 1,024                                                            14.6 s   20.2 s
    that, the model without the runner that its own embedders have                       19.6 s   23.9 s
    that, at most 64 files at a time instead of 1,024                                    17.7 s   20.4 s
    that, two connections instead of ten                                                 14.8 s   20.3 s
    that, chunks as ordinary functions and not as functions of its own                   14.4 s   21.4 s

So there are two: `documented`, as the example is, and `tuned`, with a key of file name and number. Both have batches of
64, its runner for the model, and what it does by itself for all else. Vectors are remembered by text, as its own
embedders do and as Detent does; that costs less than a tenth of a first run. With nothing changed all of them took the
same, 1.5 s at best. Its messages about usage are switched off.
"""

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

os.environ["COCOINDEX_DISABLE_USAGE_TRACKING"] = "1"

import asyncpg
import cocoindex as coco
import numpy as np
import wordllama
from cocoindex.connectors import localfs, postgres
from cocoindex.ops.text import RecursiveSplitter
from cocoindex.resources.chunk import Chunk
from cocoindex.resources.file import FileLike, PatternFilePathMatcher
from cocoindex.resources.id import IdGenerator
from cocoindex.resources.schema import VectorSchema, VectorSchemaProvider
from numpy.typing import NDArray
from psycopg.conninfo import conninfo_to_dict

CHUNK_SIZE = 2000
BATCH = 64
DIMENSIONS = 256
TABLE = "chunk"

Vector = NDArray[np.float32]


class Embedder(VectorSchemaProvider):
    """The model that the package wordllama brings along, without a network."""

    def __init__(self) -> None:
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def __coco_memo_key__(self) -> str:
        return f"wordllama {DIMENSIONS}"

    async def __coco_vector_schema__(self) -> VectorSchema:
        return VectorSchema(dtype=np.dtype(np.float32), size=DIMENSIONS)

    @coco.fn(memo=True, version=1, logic_tracking="self")
    async def embed(self, text: str) -> Vector:
        return await self._embed_many(text)

    @coco.fn.as_async(batching=True, runner=coco.GPU, max_batch_size=BATCH)
    def _embed_many(self, texts: list[str]) -> list[Vector]:
        return list(self._model.embed(texts, norm=True))


POOL = coco.ContextKey[asyncpg.Pool]("pool")
EMBEDDER = coco.ContextKey[Embedder]("embedder")
SPLITTER = RecursiveSplitter()


@dataclass
class Row:
    """`number` is one of IdGenerator's, or counts the chunks of the file."""

    file: str
    number: int
    begins: int
    ends: int
    text: str
    embedding: Annotated[Vector, EMBEDDER]


async def keep(number: int, chunk: Chunk, file: str, table: postgres.TableTarget[Row]) -> None:
    vector = await coco.use_context(EMBEDDER).embed(chunk.text)
    table.declare_row(
        row=Row(file, number, chunk.start.char_offset, chunk.end.char_offset, chunk.text, vector),
    )


@coco.fn
async def keep_numbered(numbered: tuple[int, Chunk], file: str, table: postgres.TableTarget[Row]) -> None:
    await keep(*numbered, file, table)


@coco.fn
async def keep_identified(chunk: Chunk, file: str, ids: IdGenerator, table: postgres.TableTarget[Row]) -> None:
    await keep(await ids.next_id(chunk.text), chunk, file, table)


@coco.fn(memo=True)
async def take_tuned(file: FileLike, table: postgres.TableTarget[Row]) -> None:
    chunks = SPLITTER.split(await file.read_text(), chunk_size=CHUNK_SIZE, chunk_overlap=0, language="markdown")
    await coco.map(keep_numbered, list(enumerate(chunks)), str(file.file_path.path), table)


@coco.fn(memo=True)
async def take_documented(file: FileLike, table: postgres.TableTarget[Row]) -> None:
    chunks = SPLITTER.split(await file.read_text(), chunk_size=CHUNK_SIZE, chunk_overlap=0, language="markdown")
    await coco.map(keep_identified, chunks, str(file.file_path.path), IdGenerator(), table)


TAKES = {"documented": take_documented, "tuned": take_tuned}


@coco.fn
async def follow(folder: Path, way: str) -> None:
    key = ["number"] if way == "documented" else ["file", "number"]
    schema = await postgres.TableSchema.from_class(Row, primary_key=key)
    table = await postgres.mount_table_target(POOL, TABLE, schema)
    matcher = PatternFilePathMatcher(included_patterns=["**/*.md"])
    files = localfs.walk_dir(folder, recursive=True, path_matcher=matcher)
    await coco.mount_each(TAKES[way], files.items(), table)


def main(way: str, conninfo: str, folder: str, state: str) -> None:
    options = conninfo_to_dict(conninfo)

    @coco.lifespan
    async def lifespan(builder: coco.EnvironmentBuilder) -> AsyncIterator[None]:
        builder.settings.db_path = Path(state)
        async with asyncpg.create_pool(
            host=options.get("host"),
            port=options.get("port"),
            user=options.get("user"),
            password=options.get("password"),
            database=options["dbname"],
        ) as pool:
            builder.provide(POOL, pool)
            builder.provide(EMBEDDER, Embedder())
            yield

    coco.App(coco.AppConfig("folder"), follow, Path(folder), way).update_blocking()
    coco.stop_blocking()


if __name__ == "__main__":
    main(*sys.argv[1:])
