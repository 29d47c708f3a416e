"""The process of one worker of a crew: `python -m detent.worker.process`, told what to do on standard input.

It ends when it is told to by SIGTERM, when nothing is left to do, when a handler had to be abandoned (then
its crew starts another), or when its crew has died: then nobody renews its leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import sys
from pathlib import Path

from detent import plugins
from detent.configuration import Configuration, Project, load
from detent.embedding import wordllama
from detent.errors import DetentError
from detent.postgres import attach
from detent.services.keyring import scrubbed
from detent.worker.board import Board
from detent.worker.configured import all_sources
from detent.worker.interpreter import prepare_for_work
from detent.worker.lifeline import watch
from detent.worker.modules import load_sources
from detent.worker.patience import opened
from detent.worker.spec import ORPHANED, RETIRED, Spec, read_spec
from detent.worker.worker import Worker

_ORPHAN_SECONDS = 15.0


async def work(spec: Spec) -> int:
    project = Project(Path(spec.root)) if spec.root else None
    settings = load(project, flags=spec.flags)
    if settings.embedding.provider != wordllama.WordLlama.name:
        wordllama.forget()
    declared = load_sources(spec.modules, project)
    prepare_for_work()
    ending = _ending(spec, settings)
    async with opened(spec.conninfo, unless=ending) as store:
        sources = await all_sources(store, declared, unless=ending, project=project)
        board = Board(spec.board)
        worker = Worker(store, sources, settings, owner=spec.owner, board=board, replacement=spec.replacement)
        stopping = asyncio.create_task(_stop_when(ending, worker))
        await worker.run(until_idle=spec.until_idle, wait_for_later=spec.wait_for_later, retire=True)
        stopping.cancel()
        return RETIRED if worker.retiring else 0


def _ending(spec: Spec, settings: Configuration) -> asyncio.Event:
    """An event that is set when this process is told to stop, or its crew has died."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, ending.set)

    def end_as_orphan() -> None:
        # In any case: what cannot be given back in time is taken back when its lease has run out.
        loop.call_later(settings.worker.grace_seconds + _ORPHAN_SECONDS, os._exit, ORPHANED)
        ending.set()

    watch(spec.lifeline, spec.parent, end_as_orphan)
    return ending


async def _stop_when(ending: asyncio.Event, worker: Worker) -> None:
    await ending.wait()
    worker.stop()


def _import_ahead() -> None:
    """Import and load what nearly every worker needs: it may be a while until it is told what to do."""
    for name in (
        "numpy",
        "detent.sources.files.source",
        "detent.documents.code.parsing",
        "detent.documents.markdown",
    ):
        importlib.import_module(name)
    plugins.load(plugins.SOURCES, "files")
    wordllama.load_ahead()


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # that the database is away is said once, by us
    _import_ahead()
    told = sys.stdin.readline()
    if not told:  # whoever started it has ended before it had anything to say
        os._exit(0)
    spec = read_spec(told)
    with contextlib.ExitStack() as stack, asyncio.Runner() as runner:
        try:
            if spec.server:
                stack.enter_context(attach(Path(spec.server)))
            status = runner.run(work(spec))
        except DetentError as error:
            sys.stderr.write(f"{scrubbed(str(error))}\n")
            status = 2
        sys.stderr.flush()
        os._exit(status)  # at once: handlers that were given up, in threads or tasks, must not keep the process


if __name__ == "__main__":
    main()
