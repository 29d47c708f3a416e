"""PGQueuer through the full life of its jobs: bulk `enqueue`, then `PgQueuer.run` until the queue is empty.

Its best configuration, measured with version 1.6.0 and 100,000 jobs on two cores that others used as well:
the best rate in jobs per second, and the least seconds of CPU that clients and server took together, of two
to six runs each (with others busy, the same configuration was two to three times slower):

    processes, batch         100            300          1,000          3,000         10,000
    1, asyncpg         4,300 25 s     7,500 17 s     7,800 15 s     9,100 14 s     7,300 16 s
    2, asyncpg        10,500 28 s     8,500 24 s    14,200 15 s    16,600 13 s    15,000 15 s

So: two processes, batches of 3,000. Three and four processes with batches of 1,000 reached the same (16,600
and 16,500), a pool of asyncpg connections as well (15,500 with 1,000; 15,900 with 3,000; 16,100 with 10,000).
With two processes and batches of 1,000: two managers in each process (13,900), asyncio instead of uvloop,
which its own command uses (14,700), enqueueing 10,000 jobs at once instead of 1,000 (15,000) and unlogged log
tables (`balanced`, 9,600) are no faster beyond the noise, and psycopg is slower (7,600). The tables stay
logged, as Detent's journal is. `ANALYZE` after enqueueing and the documented `optimize_autovacuum` help a
little or not at all, and are on. The periodic statistics are off: a run is too short for them.
"""

from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from psycopg.conninfo import conninfo_to_dict

from benchmarks.life import Share, Trial, main

ENQUEUE_BATCH = 1000


async def prepare(conninfo: str) -> None:
    connection = await connect(conninfo)
    queries = Queries.from_asyncpg_connection(connection)
    await queries.install()
    await queries.optimize_autovacuum()
    await connection.close()


async def work(share: Share) -> None:
    connection = await connect(share.conninfo)
    worker = PgQueuer.from_asyncpg_connection(connection)

    @worker.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        pass

    share.meet()
    await enqueue(Queries.from_asyncpg_connection(connection), share)
    await connection.execute("ANALYZE pgqueuer")
    share.meet()
    await worker.run(batch_size=share.batch, mode=QueueExecutionMode.drain, log_aggregation_interval=timedelta(0))
    await connection.close()


async def enqueue(queries: Queries, share: Share) -> None:
    for keys in share.batches(ENQUEUE_BATCH):
        payloads = [f"item-{key}".encode() for key in keys]
        await queries.enqueue(["nothing"] * len(keys), payloads, [0] * len(keys))


async def finished(conninfo: str) -> int:
    connection = await connect(conninfo)
    done: int = await connection.fetchval("SELECT count(DISTINCT job_id) FROM pgqueuer_log WHERE status = 'successful'")
    left: int = await connection.fetchval("SELECT count(*) FROM pgqueuer")
    await connection.close()
    return done - left


async def connect(conninfo: str) -> asyncpg.Connection:
    options = conninfo_to_dict(conninfo)
    return await asyncpg.connect(
        host=options.get("host"),
        port=options.get("port"),
        user=options.get("user"),
        password=options.get("password"),
        database=options["dbname"],
    )


if __name__ == "__main__":
    main(Trial(prepare, work, finished, run=uvloop.run))
