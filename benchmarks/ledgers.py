"""Ledgers of any size for benchmarks, filled by the server itself, and the cost of work on them."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

import psycopg

from detent.knowledge import Done
from detent.lifecycle import ARTICLE
from detent.store import Cursor, Stage, Store

DISCOVERED = Stage(ARTICLE, "discovered")

_FILL = """
    WITH added AS (
        INSERT INTO detent.item (kind_id, key, state, since, added_at)
        SELECT (SELECT min(id) FROM detent.kind), 'article number ' || number, 'discovered', now(), now()
        FROM generate_series(1, %s) AS number RETURNING id, kind_id
    ),
    placed AS (
        INSERT INTO detent.place (kind_id, state, not_before, priority, item_id)
        SELECT kind_id, 'discovered', '-infinity', 0, id FROM added
    )
    INSERT INTO detent.tally (kind_id, state, count) SELECT kind_id, 'discovered', count(*) FROM added GROUP BY kind_id
"""


@asynccontextmanager
async def filled(conninfo: str, items: int) -> AsyncIterator[Store]:
    """A store with this many items that wait, vacuumed, and with nothing left to write to disk."""
    async with Store(conninfo) as store:
        await store.declare("benchmark", "Article", ARTICLE)
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute(_FILL, [items])
            await connection.execute("VACUUM ANALYZE")
            await connection.execute("CHECKPOINT")
        yield store


async def claim_and_settle(store: Store, items: int, batch: int) -> float:
    """Take this many items through claim and settle, as a worker does; returns microseconds per item."""
    kinds = await store.kinds.select()
    cursor = Cursor()
    done = 0
    began = time.perf_counter()
    while done < items:
        claimed = await store.claim(DISCOVERED, owner="benchmark", limit=batch, kinds=kinds, cursor=cursor)
        await store.settle([(item, Done()) for item in claimed])
        await store.tallies.fold()
        done += len(claimed)
    return (time.perf_counter() - began) / done * 1e6


async def milliseconds(verb: Callable[[], Coroutine[Any, Any, Any]], times: int = 20) -> float:
    """How long a verb takes: the median of several calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        await verb()
        found.append(time.perf_counter() - began)
    return median(found) * 1e3
