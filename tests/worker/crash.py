"""A whole life of the library, killed on the way, and what must be as if nothing had happened.

The worker is killed at a statement boundary and a second one finishes. Each boundary can be tried in four ways: killed
before the statement is sent or after the answer has arrived, its work given back by its keeper or taken back because
the lease expired. PostgreSQL is killed at random points.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.databases import empty

from detent import NewItem
from detent.errors import DatabaseAway
from detent.store import Store
from detent.worker.duty import declare

if TYPE_CHECKING:
    from tests.worker.conftest import Bench, Server

CRASHING = Path(__file__).parent / "workshop" / "crashing.py"
NOWHERE = ("no such statement", 1)
WRITING = {
    *("add", "claim", "settle", "step", "keep_failures", "forget_failures"),
    *("write_nodes", "drop_references", "write_references", "write_checkpoints", "note_embeddings"),
}
UNTRIED = ("its worker died before beginning with it", "the answer to its claim was lost")
PAGES = [NewItem(f"page {number:02}", "Page", priority=number % 2) for number in range(90)]
KILLS = 3
PATIENCE_SECONDS = 60

Boundary = tuple[str, int]
"""What is waited for, and its occurrence."""
Found = dict[str, Any]
Chain = list[tuple[str, str, int, str | None]]

_SAME = {
    "items": """
        SELECT label, key, state, priority, content_hash, changed
        FROM item JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "nodes": """
        SELECT label, key, title, text, properties, node.content_hash
        FROM node JOIN item ON item.id = node.item_id JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "references": """
        SELECT kind.label, item.key, position, type, target.label AS target_label, reference.key AS target_key
        FROM reference JOIN item ON item.id = reference.item_id JOIN kind ON kind.id = item.kind_id
        JOIN kind AS target ON target.id = reference.kind_id ORDER BY 1, 2, 3""",
    "edges": """
        SELECT origin.key AS origin, edge.type, target.key AS target
        FROM edge JOIN item AS origin ON origin.id = from_id JOIN item AS target ON target.id = to_id
        ORDER BY 1, 2, 3""",
    "checkpoints": """
        SELECT label, key, data
        FROM checkpoint JOIN item ON item.id = checkpoint.item_id JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "embeddings": """
        SELECT label, key, provider, model, embedding.content_hash
        FROM embedding JOIN item ON item.id = embedding.item_id JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "failures": """
        SELECT label, key, failure.kind, trouble, failure.state, message
        FROM failure JOIN item ON item.id = failure.item_id JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
}
_ATTEMPTS = "SELECT label, key, state, attempt FROM item JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2"
_JOURNAL = """
    SELECT label, key, from_state, to_state, move.attempt, reason
    FROM move JOIN item ON item.id = move.item_id JOIN kind ON kind.id = item.kind_id
    ORDER BY label, key, move.id, part"""


async def found(store: Store) -> Found:
    """Everything that must be as if nothing had happened, by the items' names and not by their numbers."""
    result: Found = {"wrong": await store.tallies.check(), "held": await store.workers()}
    async with store.database.connection() as connection:
        for name, query in {**_SAME, "attempts": _ATTEMPTS, "journal": _JOURNAL}.items():
            rows = await (await connection.execute(query.encode())).fetchall()
            result[name] = [tuple(row) for row in rows]
    return result


def chains(found: Found) -> dict[str, Chain]:
    """Each item's moves, in order."""
    by_item = itertools.groupby(found["journal"], key=lambda row: f"{row[0]} {row[1]}")
    return {name: [tuple(row[2:]) for row in rows] for name, rows in by_item}


def effects(chain: Chain) -> list[tuple[str, str]]:
    """The moves that were of consequence: without claims that were given back, taken back or tried again."""
    kept: list[tuple[str, str]] = []
    for start, end, _, reason in chain:
        if kept and kept[-1] == (end, start):
            kept.pop()
        elif (start, end, reason) == ("processing", "saving", None):  # a round to the end of a crawl, without a page
            del kept[-2:]
        elif (start, end) == ("resuming", "fetching"):  # a crawl that was taken back goes on: … → error → resuming → …
            broken_off = kept[-2][0]
            kept[-2:] = [] if broken_off == end else [(broken_off, end)]
        else:
            kept.append((start, end))
    return kept


def check_story(name: str, chain: Chain, state: str, attempt: int) -> None:
    """The moves follow one another without a gap, end where the item is, and account for its attempts."""
    for (_, end, *_), (start, *_) in itertools.pairwise(chain):
        assert end == start, name
    assert chain[-1][1] == state, name
    count = 0
    for start, end, attempt_then, reason in chain:
        working = end in ("parsing", "linking", "embedding", "running") or start == "resuming"
        count += working
        assert attempt_then == count, f"{name}: {start} → {end} was attempt {count}"
        if reason in UNTRIED and end != "error":
            count -= 1
        elif not working and (start, end) in (("parsing", "parsed"), ("linking", "linked"), ("embedding", "ready")):
            count = 0
        elif end == "saving" and reason:  # a page was done
            count = 1
        elif end == "completed":
            count = 0
    if state == "error":
        assert attempt == count, name
    else:
        assert attempt == 0, name


def check(found: Found, undisturbed: Found) -> None:
    assert found["wrong"] == []
    assert found["held"] == []
    for question in _SAME:
        assert found[question] == undisturbed[question], question
    stories, model = chains(found), chains(undisturbed)
    assert stories.keys() == model.keys()
    for label, key, state, attempt in found["attempts"]:
        name = f"{label} {key}"
        assert effects(stories[name]) == effects(model[name]), name
        check_story(name, stories[name], state, attempt)


def check_undisturbed(found: Found, pages: int) -> None:
    """The model that others are compared with is a whole life: there is something in every table."""
    check(found, found)
    assert {row[2] for row in found["items"]} == {"ready", "skip", "error", "completed"}
    assert [row[0] for row in found["items"]].count("Page") == pages
    for question in _SAME:
        assert found[question], question


class Crasher:
    """Runs the library in a database of its own, with a worker that is killed and a second one that finishes."""

    def __init__(self, database: str, store: Store, process: asyncio.subprocess.Process) -> None:
        self._database = database
        self._store = store
        self._process = process

    async def run(self, boundary: Boundary, when: str, recovery: str) -> tuple[dict[str, Any], Found]:
        case = {"conninfo": self._database, "boundary": boundary, "when": when, "recovery": recovery}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        await empty(self._store)
        self._process.stdin.write(json.dumps(case).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await self._process.stdout.readline()
        assert line, f"it broke in the case {case}"
        return json.loads(line), await found(self._store)


@asynccontextmanager
async def crasher(database: str) -> AsyncIterator[Crasher]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, CRASHING, stdin=pipe, stdout=pipe, start_new_session=True
    )
    try:
        async with Store(database, size=1) as store:
            yield Crasher(database, store, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with a fork that never ends, if there is one
        await process.wait()


def first_of_each(boundaries: list[Boundary]) -> list[Boundary]:
    """The first boundary of each name."""
    return [boundary for boundary in boundaries if boundary[1] == 1]


async def try_boundaries(
    make_database: Callable[[], str],
    when: str,
    recovery: str,
    choose: Callable[[list[Boundary]], Iterable[Boundary]],
) -> None:
    """Try those that `choose` names of all boundaries that an undisturbed run passes."""
    async with crasher(make_database()) as one, crasher(make_database()) as other:
        whole, undisturbed = await one.run(NOWHERE, when, recovery)
        check_undisturbed(undisturbed, pages=6)
        counts = whole["boundaries"]
        assert set(counts) >= WRITING
        every = [(name, number) for name, count in counts.items() for number in range(1, count + 1)]
        chosen = iter(choose(every))
        tried: set[str] = set()
        killed: set[str] = set()

        async def try_each(crasher: Crasher) -> None:
            for boundary in chosen:
                tried.add(boundary[0])
                try:
                    ended, found = await crasher.run(boundary, when, recovery)
                    check(found, undisturbed)
                except (AssertionError, TimeoutError) as error:
                    error.add_note(f"The worker was killed {when} number {boundary[1]} of: {boundary[0]}")
                    raise
                if ended["killed"]:
                    killed.add(boundary[0])

        await asyncio.gather(try_each(one), try_each(other))
    assert killed == tried


async def kill_postgresql(bench: Bench, server: Server, number: signal.Signals, chance: random.Random) -> None:
    """Let a large library live undisturbed, and again while PostgreSQL is killed now and then."""
    undisturbed = await drained(bench)
    check_undisturbed(undisturbed, pages=len(PAGES))
    elsewhere = copy.copy(bench)
    goals = sorted(chance.sample(range(len(undisturbed["journal"]) * 9 // 10), KILLS))

    async def kill_now_and_then(running: asyncio.Task[None]) -> None:
        for goal in goals:
            await bench.until(lambda goal=goal: has_moved(elsewhere.store, goal))  # type: ignore[misc]
            delay, outage = chance.random() * 0.05, chance.random()
            print(f"{number.name} {delay:.3f} s after move {goal}, away for {outage:.3f} s")  # noqa: T201
            await asyncio.sleep(delay)
            if running.done():  # on a busy machine this may look late; it must have been killed in time once
                assert goal != goals[0]
                return
            server.kill(number)
            await asyncio.sleep(outage)
            await asyncio.to_thread(server.start)

    async with Store(server.conninfo, wait_seconds=3) as store:
        elsewhere.store = store
        check(await drained(elsewhere, kill_now_and_then), undisturbed)


async def drained(bench: Bench, disturb: Callable[[asyncio.Task[None]], Any] | None = None) -> Found:
    """A large library after two processes have brought it through its whole life, and nobody gave up."""
    await empty(bench.store)
    sources = bench.sources("library")
    await declare(bench.store, sources)
    await bench.store.add("library", "Page", PAGES)
    await bench.store.add("library", "Feed", ["feed"])
    many: dict[str, Any] = {"worker__processes": 2, "worker__batch_size": 2, "worker__concurrency": 2}
    crew = await bench.crew(module="library", sources=sources, worker__lease_seconds=60, **many)
    async with bench.working(crew) as running:
        if disturb is not None:
            await disturb(running)
        await running
    assert crew.deaths == 0
    return await found(bench.store)


async def has_moved(store: Store, goal: int) -> bool:
    """Whether there were so many moves; not while nobody can say."""
    try:
        async with store.database.connection() as connection:
            row = await (await connection.execute("SELECT count(*) FROM move")).fetchone()
    except DatabaseAway:
        return False
    return row is not None and bool(row.count >= goal)
