"""The settler of a worker: it writes outcomes as they come, as many together as have gathered meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence, Set

from detent.knowledge import Done, Item, Outcome, Product, Skipped, Step
from detent.store import Receipt, Settled, Store
from detent.worker.board import Board
from detent.worker.duty import Duty
from detent.worker.patience import patiently

log = logging.getLogger("detent.worker")

Ended = Sequence[tuple[Item, Outcome | Step]]

_MOST = 2000
_WRITTEN = (Settled.APPLIED, Settled.ALREADY)
_COMPLETE = (Done, Skipped)


class Settler:
    """Knows the leases that the worker holds, and how many items of each are not settled yet."""

    def __init__(
        self,
        store: Store,
        board: Board,
        settled: Callable[[Set[str] | None], None],
        over: Callable[[Sequence[Item]], None],
    ) -> None:
        self._store = store
        self._over = over
        self._board = board
        self._settled = settled
        self._ended: dict[Duty, list[tuple[Item, Outcome | Step]]] = {}
        self._steps: dict[tuple[int, int], asyncio.Future[Item | None]] = {}
        self._arrived = asyncio.Event()
        self._writing = asyncio.Lock()
        self._open: Counter[int] = Counter()
        self.completed = 0
        """Number of steps that succeeded, or had nothing to do."""

    @property
    def idle(self) -> bool:
        return not self._open

    @property
    def items(self) -> int:
        """Number of items held and not settled yet."""
        return self._open.total()

    @property
    def backlog(self) -> int:
        """Number of outcomes not written yet."""
        return sum(map(len, self._ended.values()))

    def hold(self, items: Sequence[Item]) -> None:
        """A claim was made."""
        self._open.update(item.token for item in items)
        for token in {item.token for item in items}:
            self._board.hold(token)

    def finish(self, duty: Duty, ended: Ended) -> None:
        """Outcomes are there to be written."""
        self._ended.setdefault(duty, []).extend(ended)
        self._arrived.set()

    def commit(self, duty: Duty, item: Item, step: Step) -> asyncio.Future[Item | None]:
        """A step is there to be written. The answer is the item as it is then; None if it is no longer the worker's."""
        future = self._steps[item.token, item.id] = asyncio.get_running_loop().create_future()
        self.finish(duty, [(item, step)])
        return future

    async def run(self) -> None:
        """Settle what arrives, for ever."""
        while True:
            await self._arrived.wait()
            await self.flush()

    async def flush(self) -> None:
        """Settle what has arrived; when this returns, nothing is on its way."""
        async with self._writing:
            self._arrived.clear()
            while self._ended:
                await self._settle_some()
                await patiently(self._store.notices.hint)

    async def release(self, items: Sequence[Item], reason: str, *, delay_seconds: float | None = None) -> None:
        """Give items back untried."""
        if items:
            await patiently(lambda: self._store.release(items, reason, delay_seconds=delay_seconds))
            self._account(items)

    def lose(self, items: Sequence[Item]) -> None:
        """Items are dropped, because their lease is lost: they are somebody else's."""
        if items:
            log.warning("The lease of %d items was lost before they were begun; others have them.", len(items))
            self._account(items)

    async def _settle_some(self) -> None:
        """Settle outcomes of the duty whose turn it is. If that is cut short, they stay."""
        duty = next(iter(self._ended))
        ended = self._ended.pop(duty)
        if len(ended) > _MOST:
            self._ended[duty] = ended[_MOST:]
            del ended[_MOST:]
        try:
            receipts = await patiently(lambda: self._store.settle(ended, duty.policy))
        except BaseException:
            self._ended[duty] = ended + self._ended.get(duty, [])
            raise
        self._count(receipts, ended)
        self._account(
            [receipt.item for receipt, end in zip(receipts, ended, strict=True) if not self._stays(receipt, end)]
        )
        self._settled(_where_work_may_be(receipts, ended))

    def _stays(self, receipt: Receipt, end: tuple[Item, Outcome | Step]) -> bool:
        """Tell whether the worker keeps the item. After a step, wake the handler that waits for it."""
        item, step = end
        if not isinstance(step, Step):
            return False
        advanced = _advanced(item, step, receipt.state) if receipt.status in _WRITTEN and receipt.state else None
        waiting = self._steps.pop((item.token, item.id))
        if not waiting.done():
            waiting.set_result(advanced)
        return advanced is not None

    def _count(self, receipts: Sequence[Receipt], ended: Ended) -> None:
        lost = [receipt for receipt in receipts if receipt.status is Settled.LOST]
        if lost:
            log.warning("%d items were lost to another worker, the first: %s.", len(lost), lost[0].reason)
        self.completed += sum(
            receipt.status in _WRITTEN and isinstance(outcome, _COMPLETE)
            for receipt, (_, outcome) in zip(receipts, ended, strict=True)
        )

    def _account(self, items: Sequence[Item]) -> None:
        """These items are settled, one way or another."""
        self._over(items)
        self._board.end((item.token, item.id) for item in items)
        for token, count in Counter(item.token for item in items).items():
            self._open[token] -= count
            if not self._open[token]:
                del self._open[token]
                self._board.drop(token)


def _advanced(item: Item, step: Step, state: str) -> Item:
    """The item after a step."""
    return item._replace(
        state=state,
        attempt=1,
        steps=item.steps + 1,
        checkpoint=item.checkpoint if step.checkpoint is None else step.checkpoint,
        content_hash=step.content_hash or item.content_hash,
        node=step.node or item.node,
        alone=False,
        put_off=False,
    )


def _where_work_may_be(receipts: Sequence[Receipt], ended: Ended) -> Set[str] | None:
    """The states to which items came; None if some may have come to any, because they are new."""
    if any(
        isinstance(outcome, Product) and (outcome.children or outcome.found or outcome.mentions) for _, outcome in ended
    ):
        return None
    return {receipt.state for receipt in receipts if receipt.state is not None}
