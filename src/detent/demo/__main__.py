"""`make demo`: three workers take the almanac through its stages, one of them is killed on the way, and
nothing is lost."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from detent.application.asynchronous import AsyncDetent, open_async
from detent.demo import SOURCES
from detent.postgres import stop
from detent.store import Store, Story
from detent.worker.crew import Crew
from detent.worker.duty import declare, duties

FLAGS: dict[str, object] = {
    "worker.processes": 3,
    "worker.batch_size": 4,
    "worker.concurrency": 2,
    "worker.lease_seconds": 10,
    "retry.base_seconds": 0.5,
}

QUESTION = "what lets a wheel turn in one direction only?"

NEXT = """
Try it on something of your own: `detent init my-project` makes a project, and src/detent/demo/__init__.py shows how a \
source is declared."""


class Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


out = Output(highlight=False, soft_wrap=True)


def main() -> int:
    """The exit status: 0 if everything is proven; 143 after SIGTERM. It cleans up, however it ends."""
    logging.basicConfig(level=logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="detent-demo-"))
    folder.chmod(0o755)  # as root, PostgreSQL runs under another account, which must reach it
    try:
        return asyncio.run(terminable(demonstrate(folder)))
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # whoever read this has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        stop(folder / ".detent")
        shutil.rmtree(folder, ignore_errors=True)


async def terminable(work: Coroutine[Any, Any, int]) -> int:
    """SIGTERM cancels the work, as Ctrl-C does."""
    working = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    return await working


async def demonstrate(folder: Path) -> int:
    out.print("[bold]1. A database of its own.[/] Nothing is configured, so Detent starts PostgreSQL.")
    async with open_async(folder, sources=SOURCES, flags=FLAGS) as detent:
        return await go_through(detent)


async def go_through(detent: AsyncDetent) -> int:
    added = await detent.discover()
    out.print(f"[bold]2. Discovery.[/] {added} entries of an almanac wait to be read and linked.")
    victim = await run_and_kill(detent)
    out.print("\n[bold]4. Where everything is now.[/]")
    out.print(await status(detent.store))
    out.print("[bold]5. One item's story[/]: it was in the killed worker's hands.")
    for line in await story(detent.store, victim):
        out.print(f"   {line}")
    out.print(f"\n[bold]6. Search[/] by words and by meaning: {QUESTION}")
    for line in await answers(detent):
        out.print(f"   {line}")
    out.print("\n[bold]7. The proof.[/]")
    proven = await prove(detent.store, added)
    out.print(NEXT, markup=False)
    return 0 if proven else 1


async def run_and_kill(detent: AsyncDetent) -> str:
    """Run three workers, and kill one of them with SIGKILL when it has its hands full; returns its name."""
    kinds = await declare(detent.store, detent.sources)
    crew = Crew(
        detent.store,
        detent.settings,
        duties(detent.sources, kinds, detent.settings),
        project=None,
        modules=["detent.demo"],
        flags=FLAGS,
        until_idle=True,
    )
    out.print("[bold]3. Three workers begin.[/]")
    running = asyncio.create_task(crew.run())
    try:
        victim = await kill_a_busy_worker(detent.store)
        while not running.done():
            await asyncio.wait({running}, timeout=1.0)
            counts = [f"{line.state} {line.count}" for line in await detent.count_by_state() if line.label == "Entry"]
            out.print("   " + ", ".join(counts))
        await running
    finally:
        running.cancel()
        await asyncio.wait({running})
    return victim


async def kill_a_busy_worker(store: Store) -> str:
    while True:
        await asyncio.sleep(0.1)
        counts = {line.state: line.count for line in await store.count_by_state() if line.label == "Entry"}
        busy = [worker for worker in await store.workers() if worker.items >= 3]
        if busy and counts.get("linked", 0) >= 5:
            victim = busy[0]
            os.kill(int(victim.owner.split(":")[1]), signal.SIGKILL)
            out.print(f"   [red]kill -9[/] on worker {victim.owner}, which holds {victim.items} entries.")
            return str(victim.owner)


async def status(store: Store) -> Table:
    table = Table("source", "label", "state", "items")
    table.columns[3].justify = "right"
    for line in await store.count_by_state():
        table.add_row(line.source, line.label, line.state, str(line.count))
    return table


async def story(store: Store, victim: str) -> list[str]:
    """The journal of an item that the killed worker held and did not settle."""
    page = await store.list(limit=1000)
    for listed in page.items:
        told = await store.show(listed.id)
        if any("died" in (entry.reason or "") for entry in told.history):
            return lines(told)
    return [f"{victim} had settled everything before it died."]


def lines(told: Story) -> list[str]:
    start = f"{told.item.added_at:%H:%M:%S}  added as {told.history[0].from_state}: {told.item.key}"
    return [
        start,
        *[
            f"{entry.at:%H:%M:%S}  {entry.from_state} → {entry.to_state}, attempt {entry.attempt}, by {entry.owner}"
            + (f": {entry.reason}" if entry.reason else "")
            for entry in told.history
        ],
    ]


async def answers(detent: AsyncDetent) -> list[str]:
    """The best entries for a question, each with the piece of its text that matches."""
    answer = await detent.search(QUESTION, limit=3)
    return [f"{place}. [bold]{hit.title}[/]: {hit.snippet}" for place, hit in enumerate(answer.hits, start=1)]


async def prove(store: Store, added: int) -> bool:
    """Count what must be true after any crash, and say so."""
    page = await store.list(label="Entry", limit=1000)
    stories = [await store.show(listed.id) for listed in page.items]
    counts = {line.state: line.count for line in await store.count_by_state() if line.label == "Entry"}
    ready = sum(line.count for line in await store.count_by_state() if line.state == "ready")
    failed = [told for told in stories if told.item.state == "illegible"]
    wrong = await store.tallies.check()
    facts = [
        (len(stories) == added, f"all {added} entries are there"),
        (
            all(written_once(told) for told in stories),
            "each result was written exactly once, also where a second attempt was needed",
        ),
        (counts.get("linked", 0) + len(failed) == added, f"{counts.get('linked', 0)} are linked, {len(failed)} failed"),
        (ready == added, f"{ready} passages have their vectors"),
        (len(failed) == 1, f"the failure says why: {failed[0].item.error if failed else 'none'}"),
        (not wrong, "states, places, leases and counts agree"),
    ]
    for holds, sentence in facts:
        out.print(f"   {'[green]✓[/]' if holds else '[red]✗[/]'} {sentence}")
    return all(holds for holds, _ in facts)


def written_once(told: Story) -> bool:
    moves = [(entry.from_state, entry.to_state) for entry in told.history]
    linkings = [move for move in moves if move in (("linking", "linked"), ("linking", "illegible"))]
    return moves.count(("reading", "read")) == len(linkings) == 1


if __name__ == "__main__":
    sys.exit(main())
