"""The ledger against a model of it: random interleavings by several workers, compared after every step.

The model is written from the documents and not from the SQL: dicts of rows, and one method per verb that
says what must become of an item. What the store is free to choose (which items a claim takes) the model
checks; everything else it predicts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from psycopg import sql
from psycopg.rows import namedtuple_row

from detent.knowledge import Done, Failed, Item, NewItem, Retry, Skipped
from detent.lifecycle import ARTICLE, NODE, RetryPolicy, Trouble
from detent.store import Stage, Store

LEASE_SECONDS = 60
MAX_ATTEMPTS = 3
POLICY = RetryPolicy(max_attempts=MAX_ATTEMPTS, base_seconds=1, ceiling_seconds=1)
SOURCES = ("one", "two")
KEYS = ("a", "b", "c")


@dataclass(frozen=True)
class Rules:
    """A lifecycle as the documents draw it."""

    label: str
    initial: str
    claim: dict[str, str]
    done: dict[str, str]
    back: dict[str, str]
    fail: str
    retry: set[str]
    skip: dict[str, str]
    change: dict[str, str]


ARTICLE_RULES = Rules(
    label="Article",
    initial="discovered",
    claim={"discovered": "claimed"},
    done={"claimed": "loaded"},
    back={"claimed": "discovered"},
    fail="failed",
    retry={"discovered"},
    skip={},
    change={"loaded": "discovered", "processed": "discovered", "failed": "discovered"},
)
NODE_RULES = Rules(
    label="File",
    initial="pending",
    claim={"pending": "parsing", "parsed": "linking", "linked": "embedding"},
    done={"parsing": "parsed", "linking": "linked", "embedding": "ready"},
    back={"parsing": "pending", "linking": "parsed", "embedding": "linked"},
    fail="error",
    retry={"pending", "parsed", "linked"},
    skip={"pending": "skip", "linked": "skip"},
    change=dict.fromkeys(("parsed", "linked", "ready", "skip", "error"), "pending"),
)
RULES = {"Article": ARTICLE_RULES, "File": NODE_RULES}
STAGES = [
    Stage(ARTICLE, "discovered", MAX_ATTEMPTS),
    *[Stage(NODE, state, MAX_ATTEMPTS) for state in ("pending", "parsed", "linked")],
]


@dataclass
class Row:
    """An item as the model knows it."""

    id: int
    source: str
    rules: Rules
    key: str
    priority: int
    state: str
    hash: str | None = None
    attempt: int = 0
    not_before: datetime | None = None
    changed: bool = False
    alone: bool = False
    token: int | None = None
    failure: str | None = None
    failed_in: str | None = None
    moves: list[tuple[str, str]] = field(default_factory=list)

    @property
    def working(self) -> bool:
        return self.state in self.rules.back

    def go(self, *states: str) -> None:
        for state in states:
            if state != self.state or len(states) > 1:
                self.moves.append((self.state, state))
            self.state = state

    def rest(self, *states: str, attempt: int, alone: bool = False, not_before: datetime | None = None) -> None:
        """Leave work; what changed meanwhile goes round again, with its attempts and failure forgiven."""
        self.go(*states)
        if self.changed:
            self.go(self.rules.change.get(self.state, self.state))
            self.failure = self.failed_in = None
        self.attempt = 0 if self.changed else attempt
        self.not_before = None if self.changed else not_before
        self.alone = alone
        self.changed = False

    def begin_anew(self, state: str) -> None:
        self.go(state)
        self.attempt, self.not_before, self.failure, self.failed_in = 0, None, None, None
        self.changed, self.alone, self.token = False, False, None


@dataclass
class Lease:
    deadline: datetime
    open: set[int]
    suspect: bool
    alone: bool
    owner: str


class Model:
    """What must be true of the ledger."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.rows: dict[int, Row] = {}
        self.leases: dict[int, Lease] = {}
        self.paused: set[str] = set()
        self.last_token = 0

    def named(self, source: str, label: str, key: str) -> Row | None:
        rows = self.rows.values()
        return next((r for r in rows if (r.source, r.rules.label, r.key) == (source, label, key)), None)

    def picks(self, stage: Stage, source: str, share: int) -> list[Row]:
        """What a claim may take from a source: by priority and age; of items whose time has come no more than
        its share, those first that have waited for longest since."""
        waiting = self._waiting(stage, source)
        ready = [row for row in waiting if row.not_before is None]
        due = [row for row in waiting if row.not_before is not None and row.not_before <= self.now]
        longest = sorted(due, key=lambda row: (row.not_before, row.priority, row.id))[:share]
        return sorted(ready + longest, key=lambda row: (row.priority, row.id))[:share]

    def check_claim(self, stage: Stage, limit: int, taken: list[Item]) -> None:
        """Whether the store was free to choose these items."""
        asked = [source for source in SOURCES if source not in self.paused and self.picks(stage, source, 1)]
        share = ceil(limit / len(asked)) if asked else 0
        picks = {source: self.picks(stage, source, share) for source in asked}
        heads = [rows[0] for rows in picks.values() if rows]
        assert bool(taken) == bool(heads)
        if not taken:
            return
        if taken[0].alone:
            assert [item.id for item in taken] in [[row.id] for row in heads if row.alone]
            return
        assert any(not row.alone for row in heads)
        free = {source: [row.id for row in rows if not row.alone] for source, rows in picks.items()}
        assert len(taken) == min(limit, sum(map(len, free.values())))
        for source, ids in free.items():
            mine = [item.id for item in taken if item.source == source]
            assert mine == ids[: len(mine)]

    def claim(self, stage: Stage, taken: list[Item], owner: str) -> None:
        token = taken[0].token
        assert token > self.last_token
        self.last_token = token
        deadline = self.now + timedelta(seconds=LEASE_SECONDS)
        alone = taken[0].alone and all(lease.owner != owner for lease in self.leases.values())
        self.leases[token] = Lease(deadline, {item.id for item in taken}, taken[0].alone, alone, owner)
        for item in taken:
            row = self.rows[item.id]
            assert (item.token, item.attempt, item.alone) == (token, row.attempt + 1, row.alone)
            assert (item.key, item.priority, item.content_hash) == (row.key, row.priority, row.hash)
            row.go(row.rules.claim[row.state])
            row.attempt += 1
            row.token, row.alone, row.not_before = token, False, None

    def settle(self, item: Item, outcome: Any) -> tuple[str, str]:
        """What must be answered: the status and the state."""
        row = self.rows[item.id]
        if item.token not in self.leases or item.id not in self.leases[item.token].open:
            settled_before = row.token == item.token and row.state != item.state
            return ("already" if settled_before else "lost"), row.state
        self._close(item.token, item.id)
        status = self._apply(row, item, outcome)
        return status, row.state

    def _apply(self, row: Row, item: Item, outcome: Any) -> str:
        rules, state = row.rules, row.state
        back = rules.back[state]
        match outcome:
            case Done(note=None, to=to) if to is None or (to == "processed" and rules is ARTICLE_RULES):
                further = [to] if to else []
                if not row.changed and outcome.content_hash:
                    row.hash = outcome.content_hash
                row.failure = row.failed_in = None
                row.rest(rules.done[state], *further, attempt=0)
            case Skipped() if back in rules.skip:
                row.failure = row.failed_in = None
                row.rest(back, rules.skip[back], attempt=0)
            case Retry(retry_after=seconds) if item.attempt < MAX_ATTEMPTS and seconds is not None:
                row.failure, row.failed_in = "timeout", state
                row.rest(back, attempt=row.attempt, not_before=self.now + timedelta(seconds=seconds))
            case Retry() | Failed():
                row.failure, row.failed_in = outcome.trouble.value, state
                row.rest(rules.fail, attempt=row.attempt)
            case None:
                row.token = None
                row.rest(back, attempt=row.attempt - 1, alone=item.alone)
            case _:
                row.failure, row.failed_in = "unstorable", state
                row.rest(rules.fail, attempt=row.attempt)
                return "refused"
        return "applied"

    def rescue(self) -> dict[int, str]:
        went = {}
        before = dict(self.leases)
        for token, lease in before.items():
            if lease.deadline >= self.now:
                continue
            beside = [other for other in before.values() if other is not lease and (other.alone or not other.suspect)]
            alone = lease.alone and all(other.owner != lease.owner for other in beside)
            for number in lease.open:
                row = self.rows[number]
                fails = row.attempt >= MAX_ATTEMPTS and alone and not row.changed
                attempt = row.attempt if alone else min(row.attempt, MAX_ATTEMPTS - 1)
                row.failure, row.failed_in, row.token = "worker_died", row.state, None
                row.rest(row.rules.fail if fails else row.rules.back[row.state], attempt=attempt, alone=not fails)
                went[number] = row.state
            del self.leases[token]
        return went

    def mark_changed(self, row: Row, new: str) -> bool:
        if row.hash == new:
            return False
        row.hash = new
        if row.working:
            row.changed = True
        elif row.state in row.rules.change or row.attempt:
            row.begin_anew(row.rules.change.get(row.state, row.state))
        return True

    def retry(self, row: Row) -> bool:
        if row.state != row.rules.fail:
            return False
        waited = row.rules.back[row.failed_in] if row.failed_in else row.rules.initial
        row.go(waited if waited in row.rules.retry else row.rules.initial)
        row.token, row.alone, row.not_before = None, row.failure == "worker_died", None
        return True

    def reset(self, row: Row) -> None:
        if row.working:
            assert row.token is not None
            self._close(row.token, row.id)
        row.hash = None if row.hash is None else ""
        row.begin_anew(row.rules.initial)

    def _close(self, token: int, number: int) -> None:
        self.leases[token].open.discard(number)
        if not self.leases[token].open:
            del self.leases[token]

    def _waiting(self, stage: Stage, source: str) -> list[Row]:
        label = "Article" if stage.lifecycle is ARTICLE else "File"
        rows = self.rows.values()
        return [r for r in rows if (r.source, r.rules.label, r.state) == (source, label, stage.waiting)]


LOOK = """
SELECT item.id, item.state, item.attempt, item.token, item.changed, item.content_hash,
       nullif(item.not_before, '-infinity') AS due, failure.trouble, place.alone,
       EXISTS (SELECT FROM lease WHERE lease.token = item.token AND lease.state = item.state) AS held,
       (SELECT array_agg(from_state || ' ' || to_state ORDER BY id, part) FROM move WHERE item_id = item.id) AS moves
FROM item
LEFT JOIN place ON place.item_id = item.id
LEFT JOIN failure ON failure.item_id = item.id
"""

OUTCOMES: list[Any] = [
    Done(),
    Done(),
    Done(to="processed"),
    Done(content_hash="found"),
    Done(to="bogus"),
    Done(note="\x00"),
    Retry("slow", Trouble.TIMEOUT, retry_after=100),
    Retry("slow", Trouble.TIMEOUT, retry_after=100),
    Failed("gone", Trouble.NOT_FOUND),
    Skipped("not wanted"),
]

sources = st.sampled_from(SOURCES)
labels = st.sampled_from(["Article", "File"])
picks = st.lists(st.integers(0, 1000), min_size=1, max_size=4)


class Ledger(RuleBasedStateMachine):
    """Drives the store and the model side by side."""

    store: Store
    runner: asyncio.Runner
    connection: psycopg.Connection[Any]
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(datetime(2026, 1, 1, tzinfo=UTC))
        self.handed: list[Item] = []
        self.versions = 0
        self.store.database.now = self.model.now
        for table in ("item", "place", "lease", "journal", "tally", "failure", "node", "reference", "checkpoint"):
            self.connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        self.connection.execute("UPDATE source SET paused_at = NULL")

    def wait(self, verb: Any) -> Any:
        return self.runner.run(verb)

    def some_rows(self, numbers: list[int]) -> list[Row]:
        rows = list(self.model.rows.values())
        return list({row.id: row for row in (rows[n % len(rows)] for n in numbers)}.values()) if rows else []

    def some_handed(self, numbers: list[int]) -> list[Item]:
        """Items that were claimed at some time: two of three are still held, if any are."""
        live = self.held()
        return [
            live[n % len(live)] if live and n % 3 else self.handed[-1 - n % min(len(self.handed), 12)]
            for n in numbers
            if self.handed
        ]

    def held(self) -> list[Item]:
        leases = self.model.leases
        return [item for item in self.handed if item.token in leases and item.id in leases[item.token].open]

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        for number, (source, label) in enumerate((source, label) for source in SOURCES for label in RULES):
            self.add(source, label, set(KEYS), 2 if number == 3 else number % 2)
        self.a_busy_while(seed)

    @rule(seed=st.integers(0, 2**32))
    def a_busy_while(self, seed: int) -> None:
        """Several steps, evenly at random, where Hypothesis likes small and equal numbers."""
        dice = random.Random(seed)

        def numbers() -> list[int]:
            return [dice.randrange(1000) for _ in range(dice.randint(1, 4))]

        def change() -> None:
            keys = set(dice.sample(KEYS, 2))
            self.mark_changed(dice.choice(SOURCES), dice.choice(["Article", "File", "File"]), keys, dice.random() < 0.2)

        verbs: list[Callable[[], None]] = [
            *[lambda: self.claim(dice.choice(STAGES), dice.randint(1, 5), "x")] * 4,
            *[lambda: self.work(dice.choice(STAGES), dice.randint(1, 3))] * 3,
            *[lambda: self.settle(numbers(), dice.choices(OUTCOMES, k=4))] * 3,
            *[lambda: self.some_workers_die({dice.randrange(4)})] * 2,
            *[change] * 3,
            lambda: self.settle_with_a_forged_token(numbers(), dice.randrange(1000)),
            lambda: self.release(numbers()[:2]),
            lambda: self.renew(numbers()),
            lambda: self.retry(list(range(12))),
            lambda: self.reset(numbers()[:1]),
            lambda: self.time_passes(dice.choice([1, 40, 200])),
        ]
        for _ in range(15):
            dice.choice(verbs)()
            self.the_items_agree()
            self.the_leases_agree()
            self.the_counts_agree_and_nothing_is_misplaced()

    @rule(source=sources, label=labels, keys=st.sets(st.sampled_from(KEYS), min_size=1), priority=st.integers(0, 2))
    def add(self, source: str, label: str, keys: set[str], priority: int) -> None:
        rules = RULES[label]
        state = "linked" if label == "File" and priority == 2 else None
        new = [NewItem(key, label, priority, state=state, content_hash="first") for key in sorted(keys)]
        missing = [entry for entry in new if self.model.named(source, label, entry.key) is None]
        assert self.wait(self.store.add(source, label, new)) == len(missing)
        for entry in missing:
            [number] = self.wait(self.store.listing.find(entry.key, source=source, label=label))
            row = Row(number, source, rules, entry.key, priority, state or rules.initial, hash="first")
            self.model.rows[number] = row

    @rule(stage=st.sampled_from(STAGES), limit=st.integers(1, 5), owner=st.sampled_from(["x", "y", "z"]))
    def claim(self, stage: Stage, limit: int, owner: str) -> None:
        taken = self.wait(self.store.claim(stage, owner=owner, limit=limit, lease_seconds=LEASE_SECONDS))
        self.model.check_claim(stage, limit, taken)
        if taken:
            self.model.claim(stage, taken, owner)
            self.handed += taken

    @rule(stage=st.sampled_from(STAGES), kept=st.integers(0, 3))
    def work(self, stage: Stage, kept: int) -> None:
        """A worker takes what there is and does it, but for the last few."""
        before = len(self.handed)
        self.claim(stage, 12, "x")
        taken = self.handed[before:]
        self._settle([(item, Done()) for item in taken[: len(taken) - kept]])

    @rule(kept=st.sets(st.integers(0, 20), max_size=2))
    def some_workers_die(self, kept: set[int]) -> None:
        tokens = sorted(self.model.leases)
        self.time_passes(LEASE_SECONDS)
        alive = {token for number, token in enumerate(tokens) if number in kept}
        assert self.wait(self.store.renew(alive)) == alive
        for token in alive:
            self.model.leases[token].deadline = self.model.now + timedelta(seconds=LEASE_SECONDS)
        self.time_passes(1)
        self.rescue()

    @rule(numbers=picks)
    def renew(self, numbers: list[int]) -> None:
        tokens = {item.token for item in self.some_handed(numbers)} | {self.model.last_token + 1}
        alive = tokens & set(self.model.leases)
        assert self.wait(self.store.renew(tokens)) == alive
        for token in alive:
            self.model.leases[token].deadline = self.model.now + timedelta(seconds=LEASE_SECONDS)

    @rule(seconds=st.sampled_from([1, 40, 61, 200]))
    def time_passes(self, seconds: int) -> None:
        self.model.now += timedelta(seconds=seconds)
        self.store.database.now = self.model.now

    @rule(numbers=picks, outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=4, max_size=4))
    def settle(self, numbers: list[int], outcomes: list[Any]) -> None:
        self._settle(list(zip(self.some_handed(numbers), outcomes, strict=False)))

    def _settle(self, batch: list[tuple[Item, Any]]) -> None:
        receipts = self.wait(self.store.settle(batch, POLICY))
        for (item, outcome), receipt in zip(batch, receipts, strict=True):
            expected = self.model.settle(item, outcome)
            if receipt.status.value in ("applied", "refused"):
                assert (receipt.status.value, receipt.state) == expected
            else:
                assert receipt.status.value == expected[0]

    @rule(numbers=picks)
    def finish(self, numbers: list[int]) -> None:
        self.settle(numbers, [Done()] * 4)

    @rule(numbers=picks, other=st.integers(0, 1000))
    def settle_with_a_forged_token(self, numbers: list[int], other: int) -> None:
        for item in self.some_handed(numbers):
            live = sorted(self.model.leases)
            token = live[other % len(live)] if live else self.model.last_token + other
            row = self.model.rows[item.id]
            if token not in (item.token, row.token):
                [receipt] = self.wait(self.store.settle([(item._replace(token=token), Done())], POLICY))
                assert receipt.status == "lost"

    @rule(numbers=picks)
    def release(self, numbers: list[int]) -> None:
        items = list({item.id: item for item in self.some_handed(numbers)}.values())
        receipts = self.wait(self.store.release(items))
        for item, receipt in zip(items, receipts, strict=True):
            assert (receipt.status.value, receipt.state) == self.model.settle(item, None)

    @rule()
    def rescue(self) -> None:
        assert self.wait(self.store.rescue()) == self.model.rescue()

    @rule(numbers=picks)
    def retry(self, numbers: list[int]) -> None:
        rows = self.some_rows(numbers)
        count = self.wait(self.store.retry([row.id for row in rows]))
        assert count == sum([self.model.retry(row) for row in rows])

    @rule(numbers=picks)
    def reset(self, numbers: list[int]) -> None:
        rows = self.some_rows(numbers)
        assert self.wait(self.store.reset([row.id for row in rows])) == len(rows)
        for row in rows:
            self.model.reset(row)

    @rule(source=sources, label=labels, keys=st.sets(st.sampled_from(KEYS), min_size=2), again=st.booleans())
    def mark_changed(self, source: str, label: str, keys: set[str], again: bool) -> None:
        new = f"version {self.versions}"
        self.versions += not again
        rows = [row for key in keys if (row := self.model.named(source, label, key))]
        count = self.wait(self.store.mark_changed(source, label, dict.fromkeys(keys, new)))
        assert count == sum([self.model.mark_changed(row, new) for row in rows])

    @rule(source=sources)
    def pause_or_resume(self, source: str) -> None:
        change = self.store.resume if source in self.model.paused else self.store.pause
        self.wait(change(source))
        self.model.paused ^= {source}

    @rule()
    def fold(self) -> None:
        self.connection.execute("INSERT INTO tally SELECT id, 'pending', 0 FROM kind, generate_series(1, 60)")
        self.wait(self.store.tallies.fold())

    @invariant()
    def the_items_agree(self) -> None:
        Ledger.steps += 1
        found = self.connection.execute(LOOK.encode()).fetchall()
        assert {row.id for row in found} == set(self.model.rows)
        for row in found:
            model = self.model.rows[row.id]
            seen = (row.state, row.attempt, row.changed, row.content_hash, row.due, row.trouble, row.token)
            assert seen == (
                model.state,
                model.attempt,
                model.changed,
                model.hash,
                model.not_before,
                model.failure,
                model.token,
            )
            assert (row.held, row.alone) == (model.working, None if model.working else model.alone)
            moves = [tuple(move.split()) for move in row.moves or []]
            assert moves == model.moves
            assert all(first[1] == second[0] for first, second in pairwise(moves))
            assert not moves or moves[-1][1] == row.state

    @invariant()
    def the_leases_agree(self) -> None:
        found = self.connection.execute("SELECT token, deadline, open FROM lease").fetchall()
        expected = {token: (lease.deadline, len(lease.open)) for token, lease in self.model.leases.items()}
        assert {row.token: (row.deadline, row.open) for row in found} == expected

    @invariant()
    def the_counts_agree_and_nothing_is_misplaced(self) -> None:
        counted: dict[tuple[str, str, str], int] = {}
        for row in self.model.rows.values():
            name = (row.source, row.rules.label, row.state)
            counted[name] = counted.get(name, 0) + 1
        lines = self.wait(self.store.count_by_state())
        assert {(line.source, line.label, line.state): line.count for line in lines} == counted
        assert self.wait(self.store.tallies.check()) == []


def run(database: str, *, examples: int) -> None:
    """Try that many random sequences of verbs, none of them the same in two runs."""
    options = "-c search_path=detent,public -c timezone=UTC"
    connect = psycopg.connect(database, autocommit=True, row_factory=namedtuple_row, options=options)
    with asyncio.Runner() as runner, connect as connection:
        store = runner.run(Store(database, size=1).open())
        for source in SOURCES:
            runner.run(store.declare(source, "Article", ARTICLE))
            runner.run(store.declare(source, "File", NODE))
        Ledger.store, Ledger.runner, Ledger.connection = store, runner, connection
        try:
            run_state_machine_as_test(
                Ledger,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=20,
                    deadline=None,
                    database=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(store.close())
