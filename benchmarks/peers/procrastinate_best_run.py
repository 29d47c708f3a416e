"""Procrastinate at its best: over a pool that commits each statement as it is sent, which spares round trips.

The pool does not test each connection before its use. Procrastinate cannot listen on such connections, and need not,
since all jobs are there before it starts. What else was tried stands in `procrastinate_run`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from procrastinate import App, PsycopgConnector
from psycopg_pool import AsyncConnectionPool

from benchmarks.life import Trial, main
from benchmarks.peers.procrastinate_run import finished, prepare, work

POOL_SIZE = 4


@asynccontextmanager
async def opened(conninfo: str) -> AsyncIterator[App]:
    """An application over a pool that is given to it."""
    app = App(connector=PsycopgConnector())
    async with (
        AsyncConnectionPool(
            conninfo, min_size=POOL_SIZE, max_size=POOL_SIZE, open=False, kwargs={"autocommit": True}
        ) as pool,
        app.open_async(pool),
    ):
        yield app


if __name__ == "__main__":
    main(Trial(prepare, partial(work, opened=opened, listen=False), finished, run=asyncio.run))
