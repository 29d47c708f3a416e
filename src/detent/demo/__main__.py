"""`python -m detent.demo [FOLDER]`: run the demo, in a folder that is removed at the end unless one is given."""

from __future__ import annotations

import argparse
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

from rich.markup import escape

from detent.demo.commands import CommandFailed, out
from detent.demo.material import PACKAGE, material
from detent.demo.tour import tour
from detent.postgres import stop

NEXT = """
[bold]Try next[/]
{way_there}
detent search how is a lease renewed     # or --mode text, --mode semantic
detent watch                            # keeps up while files are edited
detent add files notes ~/notes && detent run
README.md shows how to write a source of your own."""

KEPT = "cd {folder}"
REMOVED = "make demo KEEP=~/detent-demo    # the same again, and the project stays\ncd ~/detent-demo"
REMOVED_INSTALLED = "python -m detent.demo ~/detent-demo    # the same again, and the project stays\ncd ~/detent-demo"


def main() -> int:
    """Run the demo and clean up. Exit status: 0 if everything is proven, 1 if not, 130 or 143 when it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m detent.demo", description="Detent reads its own documents.")
    parser.add_argument("folder", nargs="?", type=Path, help="make the project here, and keep it")
    folder = parser.parse_args().folder
    logging.basicConfig(level=logging.CRITICAL)
    if folder is None:
        return in_temporary_folder()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        parser.error(f"{folder} is not an empty folder: choose one that is empty or does not exist.")
    folder.mkdir(parents=True, exist_ok=True)
    return in_folder(folder.resolve(), KEPT.format(folder=folder))


def in_temporary_folder() -> int:
    """Run the demo in a folder that is removed, with its database."""
    folder = Path(tempfile.mkdtemp(prefix="detent-demo-"))
    folder.chmod(0o755)  # as root, PostgreSQL runs under another account, which must reach it
    try:
        return in_folder(folder, REMOVED if material().folder != PACKAGE else REMOVED_INSTALLED)
    finally:
        stop(folder / ".detent")
        shutil.rmtree(folder, ignore_errors=True)


def in_folder(folder: Path, way_there: str) -> int:
    """Run the demo in a folder until it has ended or is stopped; returns the exit status."""
    try:
        return asyncio.run(terminable(demonstrate(folder, way_there)))
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # whoever read this has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


async def terminable(work: Coroutine[Any, Any, int]) -> int:
    """Cancel the work at SIGTERM, as Ctrl-C does."""
    working = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    return await working


async def demonstrate(folder: Path, way_there: str) -> int:
    """Run the demo, and say what to try next."""
    try:
        proven = await tour(folder)
    except CommandFailed as failure:
        out.print(f"\n[red]✗[/] {failure}")
        return 1
    out.print(NEXT.format(way_there=escape(way_there)))
    if shutil.which("detent") is None:
        out.print(f"The command is {Path(sys.executable).with_name('detent')}: add its folder to your PATH.")
    return 0 if proven else 1


if __name__ == "__main__":
    sys.exit(main())
