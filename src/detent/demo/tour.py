"""The demo from its first command to its proof."""

from __future__ import annotations

from pathlib import Path

from detent.application import open_async
from detent.application.asynchronous import AsyncDetent
from detent.demo.commands import Commands, out
from detent.demo.material import Material, material
from detent.demo.proof import prove
from detent.demo.victim import Victim, kill_a_busy_worker

NAME = "DatabaseAway"
WORDS = '"Retry-After" header'
MEANING = "what happens when a worker is killed"


async def tour(folder: Path) -> bool:
    """Run the commands in `folder`; returns whether everything was proven."""
    commands, read = Commands(folder), material()
    out.print(f"[bold]Detent reads its own documents and code.[/] The project is {folder}.")
    _heading("A project with one source")
    await commands.run("init")
    async with open_async(folder) as db:  # keeps the server running between the commands
        await commands.run("add", "files", "detent", str(read.folder), *read.options, "--language", "english")
        victim = await _run(commands, db)
        await _search(commands)
        await _look(commands, victim)
        return await _prove(commands, db, read, victim)


async def _run(commands: Commands, db: AsyncDetent) -> Victim:
    _heading("Three workers parse, link and embed; one is killed with kill -9")
    async with commands.running("run", "--processes", "3") as run:
        return await kill_a_busy_worker(db, run)


async def _search(commands: Commands) -> None:
    _heading("Search by name, by words, by meaning")
    await commands.run("search", "--limit", "2", NAME)
    await commands.run("search", "--limit", "2", "--mode", "text", WORDS)
    await commands.run("search", "--limit", "2", "--mode", "semantic", MEANING)


async def _look(commands: Commands, victim: Victim) -> None:
    _heading("One of the files that the killed worker held, and where everything is now")
    await commands.run("show", min(victim.held.values()), "--label", "File")
    await commands.run("status")


async def _prove(commands: Commands, db: AsyncDetent, read: Material, victim: Victim) -> bool:
    _heading("The proof")
    await commands.run("db", "check")
    return await prove(db, read, victim)


def _heading(text: str) -> None:
    out.print(f"\n[bold]{text}[/]")
