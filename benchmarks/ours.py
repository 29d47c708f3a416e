"""Detent through the full life of its items: `add`, then a real worker with its keeper until nothing is left.

The handler does nothing, to a batch at a time. Journal, tokens, places and tallies are as for any user.
"""

from benchmarks.life import Share, Trial, main
from detent.configuration import Configuration, load
from detent.knowledge import Item, Outcome
from detent.lifecycle import ARTICLE
from detent.sources import Handler, Source
from detent.store import Store
from detent.worker.in_process import work_here
from detent.worker.interpreter import prepare_for_work

ADD_BATCH = 5000


async def nothing(items: list[Item]) -> list[Outcome | None]:
    return [None] * len(items)


SOURCE = Source("benchmark", {"Article": ARTICLE}, [Handler("claimed", nothing, batch=True)])


async def prepare(conninfo: str) -> None:
    async with Store(conninfo) as store:
        await store.declare("benchmark", "Article", ARTICLE)


async def work(share: Share) -> None:
    prepare_for_work()
    async with Store(share.conninfo) as store, work_here(store, [SOURCE], settings(share.batch)) as worker:
        share.meet()
        for keys in share.batches(ADD_BATCH):
            await store.add("benchmark", "Article", [f"item-{key}" for key in keys])
        share.meet()
        await worker.run(until_idle=True)


def defaults() -> Configuration:
    """The settings that users get."""
    return load(None)


def settings(batch: int) -> Configuration:
    flags: dict[str, object] = {"worker.batch_size": batch, "worker.concurrency": 2, "worker.poll_seconds": 0.05}
    return load(None, flags=flags)


async def finished(conninfo: str) -> int:
    async with Store(conninfo) as store:
        if await store.tallies.check():
            raise RuntimeError("The ledger contradicts itself.")
        return sum(line.count for line in await store.count_by_state() if line.state == "loaded")


if __name__ == "__main__":
    main(Trial(prepare, work, finished))
