"""Procrastinate through the full life of its jobs: `batch_defer_async`, then a worker until no job is left.

As its documentation shows it: the connector makes its pool, and the worker listens. Two processes run ten jobs at a
time each, which was the best number: measured with version 3.10.0 and 5,000 jobs on two cores that others used as
well, the best rate in jobs per second of one to five runs each (with others busy, the same configuration was up to
four times slower):

    processes, concurrency                           1, 10    2, 10    2, 50    3, 10    4, 10
    its own pool of connections                        510      630      655      540      470
    a pool given to it                                 300      560      590
    a pool that commits each statement, no LISTEN      670      840      720      480      610

The last line is `procrastinate_best_run`. `ANALYZE` after enqueueing matters most: without it the server searches the
table for the next job (230 instead of 630). A concurrency of 1, its default, is slower (325 and 440 with one and two
processes). With more connections, uvloop or deletion of finished jobs no run was faster than these. 20,000 jobs ran at
680.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from procrastinate import App, PsycopgConnector
from procrastinate.tasks import Task
from psycopg import AsyncConnection

from benchmarks.life import Share, Trial, main

DEFER_BATCH = 1000

Opened = Callable[[str], AbstractAsyncContextManager[App]]


async def prepare(conninfo: str) -> None:
    async with opened(conninfo) as app:
        await app.schema_manager.apply_schema_async()


async def work(share: Share, opened: Opened, listen: bool) -> None:
    async with opened(share.conninfo) as app:

        @app.task(name="nothing")
        async def nothing(key: str) -> None:
            pass

        share.meet()
        await defer(nothing, share)
        await app.connector.execute_query_async("ANALYZE procrastinate_jobs")
        share.meet()
        await app.run_worker_async(concurrency=share.batch, wait=False, listen_notify=listen)


async def defer(task: Task, share: Share) -> None:
    for keys in share.batches(DEFER_BATCH):
        await task.batch_defer_async(*({"key": f"item-{key}"} for key in keys))


async def finished(conninfo: str) -> int:
    async with await AsyncConnection.connect(conninfo) as connection:
        cursor = await connection.execute("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'")
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])


@asynccontextmanager
async def opened(conninfo: str) -> AsyncIterator[App]:
    """An application whose connector makes its own pool."""
    app = App(connector=PsycopgConnector(conninfo=conninfo))
    async with app.open_async():
        yield app


if __name__ == "__main__":
    main(Trial(prepare, partial(work, opened=opened, listen=True), finished, run=asyncio.run))
