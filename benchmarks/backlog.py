"""Whether claiming and settling stay cheap: at a large backlog, and beside an old open transaction."""

import asyncio
from collections.abc import Callable
from statistics import median

import psycopg

from benchmarks import ledgers, postgres
from benchmarks.figures import Figure, at_most

SMALL, LARGE = 10_000, 5_000_000
MEASURED = 10_000
"""Items per measurement. The small ledger is emptied by one, so it is filled anew for each."""
ROUNDS = 5
LONG = 200_000
"""Items taken through beside the old transaction, so that what it holds back can pile up."""
BATCH = 500


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Claim and settle per item: 5 million against 10 thousand waiting; beside an old open transaction."""
    with postgres.server() as server:
        small = asyncio.run(_small(server, tell))
        large, held, counting = asyncio.run(_large(server, tell))
    peer = f"{small:.1f} µs at {SMALL:,}"
    return [
        Figure(f"claim + settle at {SMALL:,}", small, "µs/item"),
        Figure(f"claim + settle at {LARGE:,}", large, "µs/item"),
        at_most(1.3, "large ÷ small backlog", large / small, "times", peer=peer),
        Figure(f"claim + settle beside an old transaction, {LONG:,} items", held, "µs/item"),
        at_most(2.0, "with ÷ without an old transaction", held / large, "times", peer=f"{large:.1f} µs without"),
        at_most(10.0, f"count_by_state at {LARGE:,}", counting, "ms"),
    ]


async def _small(server: str, tell: Callable[[str], None]) -> float:
    found = []
    for turn in range(ROUNDS):
        tell(f"{SMALL:,} items waiting, round {turn + 1} of {ROUNDS}")
        with postgres.empty_database(server) as conninfo:
            async with ledgers.filled(conninfo, SMALL) as store:
                found.append(await ledgers.claim_and_settle(store, MEASURED, BATCH))
    return median(found)


async def _large(server: str, tell: Callable[[str], None]) -> tuple[float, float, float]:
    """At the large backlog: the cost per item, the cost beside an old transaction, and of counting in ms."""
    with postgres.empty_database(server) as conninfo:
        tell(f"filling a ledger with {LARGE:,} items")
        async with ledgers.filled(conninfo, LARGE) as store:
            found = []
            for turn in range(ROUNDS):
                tell(f"{LARGE:,} items waiting, round {turn + 1} of {ROUNDS}")
                found.append(await ledgers.claim_and_settle(store, MEASURED, BATCH))
            counting = await ledgers.milliseconds(store.count_by_state)
            async with await psycopg.AsyncConnection.connect(conninfo) as old:
                tell(f"{LONG:,} items beside an old open transaction")
                await old.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
                await old.execute("SELECT count(*) FROM detent.source")
                held = await ledgers.claim_and_settle(store, LONG, BATCH)
            return median(found), held, counting
