"""A source whose items say themselves what happens to them, for worker processes that are watched from outside.

The first word of an item's key is what its handler does; what follows is its argument and a name. Each call is
noted in the file `calls` of the folder WORKSHOP, and a handler that waits does so for a file in that folder.
"""

import asyncio
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from detent import Done, Handler, Item, Lifecycle, Outcome, Source

FOLDER = Path(os.environ.get("WORKSHOP", "/nonexistent"))

JOB = Lifecycle(
    "job",
    initial="todo",
    moves=[
        ("todo", "claim", "doing"),
        ("doing", "done", "done"),
        ("doing", "back", "todo"),
        ("doing", "fail", "failed"),
        ("failed", "retry", "todo"),
        ("done", "change", "todo"),
    ],
)


def note(item: Item) -> None:
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{item.key}\t{os.getpid()}\t{item.attempt}\t{item.alone}\n")


def act(item: Item) -> None:
    """What ordinary code does, wherever it runs."""
    verb, _, argument = item.key.partition(" ")
    match verb:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "raise":
            raise ValueError(argument)
        case "missing":
            raise FileNotFoundError(argument)
        case "flaky" if item.attempt == 1:
            raise ConnectionError(argument)
        case "block" | "hold" | "gil":
            block(verb, argument.split()[0])


def block(verb: str, argument: str) -> None:
    """Block the thread until the test opens a gate; `hold` and `gil` with the interpreter's lock."""
    match verb:
        case "block":
            while not (FOLDER / argument).exists():
                time.sleep(0.01)
        case "hold":
            os.mkfifo(FOLDER / argument)
            while ctypes.PyDLL(None).open(bytes(FOLDER / argument), os.O_RDONLY) < 0:  # a signal wakes it
                pass
        case "gil":
            end = time.monotonic() + float(argument)
            while (left := end - time.monotonic()) > 0:  # a signal wakes it
                ctypes.PyDLL(None).usleep(int(left * 1e6))


async def perform(item: Item) -> Outcome:
    note(item)
    act(item)
    verb, _, argument = item.key.partition(" ")
    while verb == "wait" and not (FOLDER / argument.split()[0]).exists():  # noqa: ASYNC110  the test opens it
        await asyncio.sleep(0.01)
    return Done()


async def perform_all(items: list[Item]) -> list[Outcome]:
    return [await perform(item) for item in items]


def labour(item: Item) -> Outcome:
    note(item)
    act(item)
    return Done()


def labour_all(items: list[Item]) -> list[Outcome]:
    return [labour(item) for item in items]


SOURCES = [
    Source("tasks", {"Task": JOB}, [Handler("doing", perform)]),
    Source("batches", {"Task": JOB}, [Handler("doing", perform_all, batch=True)]),
    Source("chores", {"Task": JOB}, [Handler("doing", labour)]),
    Source("bundles", {"Task": JOB}, [Handler("doing", labour_all, batch=True)]),
]
