"""A program that runs a crew in the workshop, ended by signals in two steps, as `detent work` is.

Its arguments: the database, and the crew's flags as JSON.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

from detent.configuration import Project, load
from detent.store import Store
from detent.worker.crew import Crew
from detent.worker.duty import declare, duties
from detent.worker.modules import load_sources

FOLDER = Path(os.environ["WORKSHOP"])


async def main(conninfo: str, flags: dict[str, object]) -> None:
    project = Project(Path(__file__).parent)
    settings = load(None, flags=flags | {"database": conninfo})
    sources = load_sources(["workshop"], project)
    async with Store(conninfo) as store:
        found = duties(sources, await declare(store, sources), settings)
        crew = Crew(store, settings, found, project=project, modules=["workshop"], flags=flags)
        asked = False

        def stop() -> None:
            nonlocal asked
            crew.kill() if asked else crew.stop()
            asked = True
            (FOLDER / "stopping").touch()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        await crew.run()


if __name__ == "__main__":
    logging.basicConfig()
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
