"""Procrastinate through the full life of its jobs: `batch_defer_async`, then a worker until no job is left.

Its best configuration, measured with version 3.10.0 and 5,000 jobs on two cores that others used as well: the
best rate in jobs per second of one to five runs each (with others busy, the same configuration was up to
four times slower):

    processes, concurrency                           1, 10    2, 10    2, 50    3, 10    4, 10
    its own pool of connections                        510      630      655      540      470
    a pool given to it                                 300      560      590
    a pool that commits each statement, no LISTEN      670      840      720      480      610

So: two processes that run 10 jobs at a time, over a pool given to `open_async`. That pool does not test each
connection before its use, and its connections commit by themselves, which spares round trips for each
statement; procrastinate cannot listen on such connections, and need not, since all jobs are there before it
starts. `ANALYZE` after enqueueing matters most: without it the server searches the table for the next job
(230 instead of 630). A concurrency of 1 is slower (325 and 440 with one and two processes). With more
connections, uvloop or deletion of finished jobs no run was faster than these. 20,000 jobs ran at 680.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from procrastinate import App, PsycopgConnector
from procrastinate.tasks import Task
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from benchmarks.life import Share, Trial, main

DEFER_BATCH = 1000
POOL_SIZE = 4


async def prepare(conninfo: str) -> None:
    async with opened(conninfo) as app:
        await app.schema_manager.apply_schema_async()


async def work(share: Share) -> None:
    async with opened(share.conninfo) as app:

        @app.task(name="nothing")
        async def nothing(key: str) -> None:
            pass

        share.meet()
        await defer(nothing, share)
        await app.connector.execute_query_async("ANALYZE procrastinate_jobs")
        share.meet()
        await app.run_worker_async(concurrency=share.batch, wait=False, listen_notify=False)


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
    """An application over a pool of its own, which commits each statement as it is sent."""
    app = App(connector=PsycopgConnector())
    async with (
        AsyncConnectionPool(
            conninfo, min_size=POOL_SIZE, max_size=POOL_SIZE, open=False, kwargs={"autocommit": True}
        ) as pool,
        app.open_async(pool),
    ):
        yield app


if __name__ == "__main__":
    main(Trial(prepare, work, finished, run=asyncio.run))
