"""Runs a whole life of a small library in processes that are killed at one statement boundary, and finishes it.

A server that forks: each line of its input is a case, `{"conninfo", "boundary", "when", "recovery"}`. For each it
forks a worker that begins with an empty database and is killed when it comes to that boundary, then a second one
that finishes, and answers with what is in the database then. A boundary is anything that a connection waits for:
a statement, the beginning or the end of a transaction.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import psycopg

from detent import Done, Handler, Item, NewItem, Node, Outcome, Reference, Skipped, Source
from detent.configuration import load
from detent.lifecycle import NODE
from detent.store import Store
from detent.worker import Worker, declare
from detent.worker.board import Board, make_descriptor
from detent.worker.keeper import Keeper, Ward

PAGES = [f"page {number:02}" for number in range(12)]
LOST, FLAKY, SHORT = "page 03", "page 05", "page 02#1"

SETTINGS = load(
    None,
    flags={"worker.batch_size": 12, "worker.concurrency": 12, "worker.poll_seconds": 0.05, "retry.base_seconds": 0},
)


async def parse(item: Item) -> Outcome:
    if item.key == LOST:
        raise FileNotFoundError(item.key)
    if item.key == FLAKY and item.attempt == 1:
        raise ConnectionError("not now")
    sections = [NewItem(f"{item.key}#{number}", "Section", state="linked") for number in range(int(item.key[-1]) % 3)]
    node = Node(item.key.title(), f"All about {item.key}.", {"sections": len(sections)}, f"hash of {item.key}")
    return Done(node=node, references=[], found=sections, checkpoint={"parsed": item.key})


def link(item: Item) -> Outcome:
    following = PAGES[(PAGES.index(item.key) + 1) % len(PAGES)]
    return Done(
        references=[Reference("next", "Page", following), Reference("part", "Section", f"{item.key}#0")],
        checkpoint={**(item.checkpoint or {}), "linked": following},
    )


async def embed(items: list[Item]) -> list[Outcome]:
    return [_embedded(item) for item in items]


def _embedded(item: Item) -> Outcome:
    if item.key == SHORT:
        return Skipped("too short")
    if item.label == "Section":
        return Done(node=Node(item.key, "A part."), content_hash=f"embedded {item.key}")
    return Done(note="embedded")


def discover() -> Iterator[NewItem]:
    yield from (NewItem(key, "Page", priority=number % 2) for number, key in enumerate(PAGES))


LIBRARY = Source(
    "library",
    {"Page": NODE, "Section": NODE},
    [Handler("parsing", parse, label="Page"), Handler("linking", link), Handler("embedding", embed, batch=True)],
    discover,
)


class Boundaries:
    """Counts what connections wait for, and kills the process at one of them."""

    def __init__(self, fatal: int, when: str) -> None:
        self.passed = 0
        wait = psycopg.AsyncConnection.wait

        async def counted(connection: Any, generator: Any, *arguments: Any, **named: Any) -> Any:
            idle = connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if idle and generator.gi_code.co_name == "_commit_gen":
                return await wait(connection, generator, *arguments, **named)  # there is nothing to send
            self.passed += 1
            number = self.passed
            if number == fatal and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = await wait(connection, generator, *arguments, **named)
            if number == fatal and when == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(psycopg.AsyncConnection, "wait", counted)  # noqa: B010  a method may not be assigned to


async def work(store: Store, owner: str, board: Board) -> None:
    """The whole life of the library, from nothing or from wherever it was left."""
    await declare(store, [LIBRARY])
    await store.add("library", "Page", discover())
    await Worker(store, [LIBRARY], SETTINGS, owner=owner, board=board).run(until_idle=True)


async def begin(case: dict[str, Any], board: int) -> dict[str, Any]:
    """The first worker: it does not get far, unless its fatal boundary lies beyond the end."""
    async with Store(case["conninfo"], size=2) as store, store.database.connection() as connection:
        for table in await (await connection.execute(_TABLES)).fetchall():
            await connection.execute(f"DELETE FROM {table.name}")  # noqa: S608  our own tables
    boundaries = Boundaries(case["boundary"], case["when"])
    async with Store(case["conninfo"], size=2) as store:
        await work(store, "first", Board(board))
    return {"boundaries": boundaries.passed}


async def finish(case: dict[str, Any], board: int) -> dict[str, Any]:
    """The second worker, after the first one's work was taken back: by its keeper, or because its lease ran out."""
    async with Store(case["conninfo"], size=2) as store:
        if case["recovery"] == "keeper":
            await Keeper(store, lease_seconds=300).bury(Ward("first", 0, Board(board), {}))
        else:
            async with store.database.connection() as connection:
                await connection.execute("UPDATE lease SET deadline = now() - interval '1 second'")
            await store.rescue()
        await work(store, "second", Board(make_descriptor()))
        return await found(store)


async def found(store: Store) -> dict[str, Any]:
    """Everything that must be as if nothing had happened, by the items' names and not by their numbers."""
    result: dict[str, Any] = {"wrong": await store.tallies.check(), "held": len(await store.workers())}
    async with store.database.connection() as connection:
        for name, query in _QUESTIONS.items():
            rows = await (await connection.execute(query)).fetchall()
            result[name] = [list(row) for row in rows]
    return result


_TABLES = """
SELECT format('%I.%I', nspname, relname) AS name
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'detent' AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration'
ORDER BY relname NOT IN ('kind'), relname
"""

_QUESTIONS = {
    "items": """
        SELECT label, key, state, priority, content_hash, changed
        FROM item JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "attempts": """
        SELECT label, key, state, attempt FROM item JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
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
    "failures": """
        SELECT label, key, failure.kind, trouble, failure.state, message
        FROM failure JOIN item ON item.id = failure.item_id JOIN kind ON kind.id = item.kind_id ORDER BY 1, 2""",
    "journal": """
        SELECT label, key, from_state, to_state, journal.attempt, reason
        FROM journal JOIN item ON item.id = journal.item_id JOIN kind ON kind.id = item.kind_id
        ORDER BY label, key, journal.id""",
}


def in_a_fork(step: Any, case: dict[str, Any], board: int) -> dict[str, Any] | None:
    """What the step returns, made in a process of its own; None if that was killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            answer = json.dumps(asyncio.run(step(case, board)))
            with os.fdopen(writing, "w") as file:
                file.write(answer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = file.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if status:
        raise RuntimeError(f"{step.__name__} ended with status {status} in the case {case}")
    result: dict[str, Any] = json.loads(answer)
    return result


def main() -> None:
    for line in sys.stdin:
        case = json.loads(line)
        board = make_descriptor()
        ended = in_a_fork(begin, case, board)
        answer = {"killed": ended is None, **(ended or {}), "found": in_a_fork(finish, case, board)}
        os.close(board)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
