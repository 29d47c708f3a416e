"""Runs a whole life of the library in processes that are killed at one statement boundary, and finishes it.

A server that forks: each line of its input is a case, `{"conninfo", "boundary", "when", "recovery"}`. For each it
forks a worker that begins with the database given and is killed when it comes to that boundary, then a second one
that finishes. A boundary is anything that a connection waits for: a statement, the beginning or the end of a
transaction. It is named by what is waited for and how often that was waited for before, so that a run which goes
a little differently from the last one has the same boundaries.
"""

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TextIO

import psycopg

from detent import NewItem
from detent.configuration import Project, load
from detent.store import Store
from detent.store.statements import SQL
from detent.worker.board import Board, make_descriptor
from detent.worker.duty import declare
from detent.worker.keeper import Keeper, Ward
from detent.worker.modules import load_sources
from detent.worker.tending import Tending
from detent.worker.worker import Worker

Case = dict[str, Any]
Step = Callable[[Case, int, TextIO], Coroutine[Any, Any, None]]

[LIBRARY] = load_sources(["library"], Project(Path(__file__).parent))
PAGES = [NewItem(f"page {number:02}", "Page", priority=number % 2) for number in range(6)]
SETTINGS = load(
    None,
    flags={"worker.batch_size": 12, "worker.concurrency": 12, "worker.poll_seconds": 0.05, "retry.base_seconds": 0},
)
NAMES = {text: name for name, text in SQL.items()}


class Boundaries:
    """Counts what connections wait for, and kills the process at one of them."""

    def __init__(self, case: Case, answer: TextIO) -> None:
        self.passed: Counter[str] = Counter()
        name, occurrence = case["boundary"]
        wait = psycopg.AsyncConnection.wait

        def die() -> None:
            print(json.dumps({"killed": True}), file=answer, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

        async def counted(connection: Any, generator: Any, *arguments: Any, **named: Any) -> Any:
            awaited = name_of(connection, generator)
            if awaited is None:
                return await wait(connection, generator, *arguments, **named)
            self.passed[awaited] += 1
            fatal = (awaited, self.passed[awaited]) == (name, occurrence)
            if fatal and case["when"] == "before":
                die()
            result = await wait(connection, generator, *arguments, **named)
            if fatal:
                die()
            return result

        setattr(psycopg.AsyncConnection, "wait", counted)  # noqa: B010  a method may not be assigned to


def name_of(connection: Any, generator: Any) -> str | None:
    """What is about to be waited for; None if nothing is sent: a hint is awaited, or a transaction there is none of."""
    does = str(generator.gi_code.co_name)
    idle = connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
    if does == "notifies" or (idle and does == "_commit_gen"):
        return None
    query = str(generator.gi_frame.f_locals.get("query", does))
    return NAMES.get(query, query)


async def work(store: Store, owner: str, board: Board) -> None:
    """The whole life of the library, from nothing or from wherever it was left. What is tended beside the work has
    tests of its own, with interruptions."""

    async def nothing(tending: Tending) -> None:
        return

    for verb in ("run", "finish"):
        setattr(Tending, verb, nothing)
    await declare(store, [LIBRARY])
    await store.add("library", "Page", PAGES)
    await store.add("library", "Feed", ["feed"])
    await Worker(store, [LIBRARY], SETTINGS, owner=owner, board=board).run(until_idle=True)


async def begin(case: Case, board: int, answer: TextIO) -> None:
    """The first worker: it does not get far, unless its fatal boundary lies beyond the end."""
    boundaries = Boundaries(case, answer)
    async with Store(case["conninfo"], size=2) as store:
        await work(store, "first", Board(board))
    json.dump({"killed": False, "boundaries": boundaries.passed}, answer)


async def finish(case: Case, board: int, answer: TextIO) -> None:
    """The second worker, after the first one's work was taken back: by its keeper, or because its lease ran out."""
    async with Store(case["conninfo"], size=2) as store:
        if case["recovery"] == "keeper":
            await Keeper(store, lease_seconds=300).bury(Ward("first", 0, Board(board), {}))
        else:
            async with store.database.connection() as connection:
                await no_longer_served(connection, case["began"])
                await connection.execute("UPDATE lease SET deadline = now() - interval '1 second'")
            await store.rescue()
        await work(store, "second", Board(make_descriptor()))
    json.dump({}, answer)


async def no_longer_served(connection: Any, began: float) -> None:
    """Wait until the server has noticed that the first worker is dead: a claim that it is carrying out for it would
    be committed with a lease that does not end in this test's lifetime."""
    others = """
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
          AND backend_start > to_timestamp(%s)"""
    while await (await connection.execute(others, [began])).fetchall():  # noqa: ASYNC110  they are in the database
        await asyncio.sleep(0.01)


def in_a_fork(step: Step, case: Case, board: int) -> Case:
    """What the step answers, in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with os.fdopen(writing, "w") as answer:
                asyncio.run(step(case, board, answer))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        answered: Case = json.loads(file.read() or "{}")
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if killed != answered.get("killed", False) or (status and not killed):
        raise RuntimeError(f"{step.__name__} ended with status {status} in the case {case}")
    return answered


def main() -> None:
    for line in sys.stdin:
        case = {**json.loads(line), "began": time.time()}
        board = make_descriptor()
        answer = in_a_fork(begin, case, board) | in_a_fork(finish, case, board)
        os.close(board)
        print(json.dumps(answer), flush=True)  # noqa: T201  it is asked through its input and output


if __name__ == "__main__":
    main()
