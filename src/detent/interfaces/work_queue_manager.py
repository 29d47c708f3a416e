"""The work queue of the documents "Expansion State Machine" and "Expansion Module"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict
from weakref import WeakKeyDictionary, WeakSet

from detent.application import Detent
from detent.application.steering import owner_name
from detent.application.values import Kind, Settled, Story
from detent.errors import DetentError, IllegalMove, LeaseLost, Unstorable
from detent.knowledge import Done, Failed, Item, Outcome, Reference, Retry
from detent.lifecycle import ARTICLE, Again, Event, RetryPolicy, Trouble, decide

LABEL = "Article"

_MANAGERS: WeakKeyDictionary[Detent, WeakSet[WorkQueueManager]] = WeakKeyDictionary()
"""The managers that hold articles in this program, so that a load by others is written with their tokens."""


class NotHeld(LeaseLost):
    """The article is not claimed by this manager, so it may not move it; it was left as it is."""

    def __init__(self, item: str, state: str) -> None:
        DetentError.__init__(
            self,
            f"{item} is {state!r} and not claimed by this manager: its claim was lost, or it never had one. "
            "Nothing was written; `claim_work` gives articles to work on.",
        )
        self.item, self.token = item, 0


class NotAdvanced(Unstorable):
    """The data of an article could not be stored, so the article failed instead of advancing."""

    def __init__(self, item: object, state: str, to: str, reason: str | None) -> None:
        super().__init__(f"{item} cannot go from {state!r} to {to!r}: {reason or 'it was refused'}. It has failed.")
        self.item, self.state, self.to = str(item), state, to


class ClaimedArticle(TypedDict):
    title: str
    expansion_depth: int
    claimed_at: datetime


class WorkQueueManager:
    """Hands out the articles of one source, seeds first, and takes note of what became of them.

    Each claimed article has a lease of its own, which lasts `timeout_seconds` from the claim or the last
    heartbeat. The manager keeps the tokens of what it claimed, so that it alone can move those articles; whoever
    was too slow and lost a claim gets LeaseLost and has written nothing. A worker that dies with an article
    counts as an attempt at it, like a failure, and the last attempt at an article that others died with is made
    with nothing else in the batch.

    Articles come from the source itself, from `initialize_seeds` and `LinkDiscovery`, or by `db.add(source, "Article",
    [NewItem(title, "Article", depth)])`. What an ArticleLoader loads for a claimed one is written by `advance_state`.
    """

    def __init__(self, db: Detent, max_retries: int = 3, source: str = "wiki") -> None:
        self._db = db
        self._verbs = db.asynchronous
        self._steering = db.asynchronous.steering
        self._max_retries = max_retries
        self._policy = RetryPolicy(max_retries, base_seconds=0.0, ceiling_seconds=0.0)
        self._owner = owner_name("queue")
        self._held: dict[str, Item] = {}
        self._carried: dict[str, Done] = {}
        self._hopeless: dict[str, Failed] = {}
        self._refused: set[str] = set()
        self._kind: Kind = db.steering.declare(source, LABEL, ARTICLE)
        _MANAGERS.setdefault(db, WeakSet()).add(self)

    @classmethod
    def holding(cls, db: Detent, source: str, article_title: str) -> WorkQueueManager | None:
        """The manager that has claimed an article, if it is one of this program's. Who has lost a claim may not know
        that yet, so it is the one that claimed last."""
        holders = [each for each in cls._of(db, source) if article_title in each._held]
        return max(holders, key=lambda each: each._held[article_title].token, default=None)

    @classmethod
    def to_be_loaded(cls, db: Detent, source: str) -> list[str]:
        """The articles that this program has claimed and nothing is known of yet, in the order of their claims."""
        items = [item for each in cls._of(db, source) for item in each._held.values() if item.key not in each._carried]
        return [item.key for item in sorted(items, key=lambda item: item.token)]

    @classmethod
    def _of(cls, db: Detent, source: str) -> list[WorkQueueManager]:
        return [each for each in _MANAGERS.get(db, ()) if each._kind.source == source]

    def carry(self, article_title: str, done: Done) -> None:
        """Keep what is to be written when a claimed article is advanced."""
        self._carried[article_title] = done

    def give_up(self, article_title: str, failed: Failed) -> None:
        """Keep why a claimed article can never be loaded, for when it is marked as failed for that reason."""
        self._hopeless[article_title] = failed

    def refer(self, article_title: str, references: Sequence[Reference]) -> None:
        """The same for what it refers to, unless that is known from loading it."""
        done = self._carried.get(article_title, Done())
        if done.references is None and not done.leaves:
            self._carried[article_title] = replace(done, references=references)

    def claim_work(self, batch_size: int = 10, timeout_seconds: float = 300) -> list[ClaimedArticle]:
        """Claim up to `batch_size` discovered articles, lowest depth first; empty if there is no work.

        Claims that others let run out are taken back first.
        """
        return self._db.wait(self._claim(batch_size, timeout_seconds)) if batch_size > 0 else []

    def update_heartbeat(self, article_title: str) -> None:
        """Keep the claim on an article for another `timeout_seconds`; raises LeaseLost if it is lost."""
        self._db.wait(self._renew(article_title))

    def reclaim_stale(self, timeout_seconds: float = 300) -> int:
        """Take back the articles whose claimers were not heard of for `timeout_seconds`; returns how many.

        They are discovered again, or failed if that was the last attempt.
        """
        went = self._db.steering.reclaim([self._kind], owner=self._owner, silent_seconds=timeout_seconds, alone=False)
        return len(went)

    def advance_state(self, article_title: str, new_state: str) -> None:
        """Move an article on: one that this manager claimed to `loaded`, `processed` or `failed`, a loaded one to
        `processed`, a failed one back to `discovered`.

        Raises LeaseLost where the claim is lost, IllegalMove where there is no such move, and NotAdvanced where what
        was loaded cannot be kept.
        """
        self._db.wait(self._advance(article_title, new_state))

    def mark_failed(self, article_title: str, error: str) -> None:
        """Note that processing an article failed: it is discovered again, to be retried at once, or failed for
        good after `max_retries` attempts; at once where an ArticleLoader gave this error because no attempt will do:
        there is no such article. Raises like `advance_state`; nothing is left to do after NotAdvanced."""
        self._db.wait(self._fail(article_title, error))

    def get_queue_stats(self) -> dict[str, int]:
        """Return the number of articles in each state, and in `total`."""
        counts = dict.fromkeys(ARTICLE.states, 0)
        for line in self._db.count_by_state():
            if (line.source, line.label) == (self._kind.source, LABEL):
                counts[line.state] += line.count
        return counts | {"total": sum(counts.values())}

    def get_article(self, article_title: str) -> dict[str, Any]:
        """An article's properties: `title`, `expansion_state`, `expansion_depth`, `claimed_at`, `processed_at`,
        `retry_count` and `error`."""
        return self._db.wait(self._describe(article_title))

    async def _claim(self, limit: int, seconds: float) -> list[ClaimedArticle]:
        await self._steering.reclaim([self._kind], owner=self._owner, alone=False)
        items = await self._steering.claim_each(
            self._kind,
            ARTICLE.initial,
            owner=self._owner,
            limit=limit,
            lease_seconds=seconds,
            max_attempts=self._max_retries,
        )
        self._held |= {item.key: item for item in items}
        self._refused -= self._held.keys()
        heard = await self._steering.heard([item.token for item in items])
        return [
            {"title": item.key, "expansion_depth": item.priority, "claimed_at": heard[item.token]}
            for item in items
            if item.token in heard
        ]

    async def _renew(self, title: str) -> None:
        item = self._held.get(title)
        if item is None:
            raise NotHeld(f"{self._kind}/{title}", (await self._story(title)).item.state)
        if not await self._verbs.renew([item.token]):
            raise self._lost(item)

    async def _advance(self, title: str, to: str) -> None:
        item = self._held.get(title)
        if item is None:
            await self._move_resting(title, to)
        elif to in ARTICLE.failures:
            await self._settle(item, Failed(f"advanced to {to!r} by its worker", Trouble.UNKNOWN), to)
        else:
            ARTICLE.path(item.state, Event.DONE, to, item=str(item))
            await self._settle(item, replace(self._carried.get(title, Done()), to=to), to)

    async def _fail(self, title: str, error: str) -> None:
        item = self._held.get(title)
        if item is None and title in self._refused:  # it has failed already, and that is what its claimer was told
            self._refused.remove(title)
            return
        if item is None:
            raise self._unmovable(title, (await self._story(title)).item.state, ARTICLE.initial)
        hopeless = self._hopeless.get(title)
        if hopeless is not None and hopeless.reason == error:
            await self._settle(item, hopeless, "failed")
            return
        match decide(Trouble.UNKNOWN, item.attempt, self._policy):
            case Again():
                await self._settle(item, Retry(error), ARTICLE.initial)
            case _:
                await self._settle(item, Failed(error, Trouble.UNKNOWN), "failed")

    async def _settle(self, item: Item, outcome: Outcome, to: str) -> None:
        receipt = (await self._steering.settle([(item, outcome)], self._policy))[0]
        if receipt.status is Settled.LOST:
            raise self._lost(item)
        self._let_go(item)
        if receipt.status is Settled.REFUSED:
            self._refused.add(item.key)
            raise NotAdvanced(item, item.state, to, receipt.reason)

    def _let_go(self, item: Item) -> None:
        self._held.pop(item.key, None)
        self._carried.pop(item.key, None)
        self._hopeless.pop(item.key, None)

    async def _move_resting(self, title: str, to: str) -> None:
        story = await self._story(title)
        if story.item.state in ARTICLE.working or to in ARTICLE.working:
            raise self._unmovable(title, story.item.state, to)
        if not await self._steering.move([story.item.id], to, owner=self._owner):
            raise self._unmovable(title, (await self._story(title)).item.state, to)

    async def _describe(self, title: str) -> dict[str, Any]:
        story = await self._story(title)
        item, state = story.item, story.item.state
        ended = state in ARTICLE.failures or state in ("loaded", "processed")
        return {
            "title": item.key,
            "expansion_state": state,
            "expansion_depth": item.priority,
            "claimed_at": None if state == ARTICLE.initial else await self._claimed_at(story),
            "processed_at": item.since if ended else None,
            "retry_count": _retry_count(story),
            "error": item.error,
        }

    async def _claimed_at(self, story: Story) -> datetime | None:
        """The last renewal by the article's claimer; after its work, the time of the claim."""
        if story.token is not None and story.item.state in ARTICLE.working:
            heard = await self._steering.heard([story.token])
            if story.token in heard:
                return heard[story.token]
        claims = [entry.at for entry in story.history if entry.to_state in ARTICLE.working]
        return claims[-1] if claims else None

    async def _story(self, title: str) -> Story:
        ids = await self._verbs.find(title, source=self._kind.source, label=LABEL)
        return await self._verbs.show(ids[0])

    def _lost(self, item: Item) -> LeaseLost:
        self._let_go(item)
        return LeaseLost(str(item), item.token)

    def _unmovable(self, title: str, state: str, to: str) -> DetentError:
        name = f"{self._kind}/{title}"
        if state in ARTICLE.working:
            return NotHeld(name, state)
        return IllegalMove(name, state, to, ARTICLE.name)


def _retry_count(story: Story) -> int:
    """The attempts that failed. Success begins a new count on the item, so that after it the journal tells."""
    if story.item.state in ARTICLE.working:
        return story.item.attempt - 1
    succeeded = [entry.attempt - 1 for entry in story.history if entry.to_state == "loaded"]
    if story.item.state in ("loaded", "processed") and succeeded:
        return succeeded[-1]
    return story.item.attempt
