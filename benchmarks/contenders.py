"""Who is measured: each a module that an interpreter runs, with the configuration that is best for it."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.life import Life
from benchmarks.peers import environment

REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Contender:
    """A module that ends with `life.main(…)`, the interpreter that runs it, and how it is run.

    `items` is chosen so that a run takes 10 to 30 seconds; `batch` means what the contender takes it to mean.
    """

    name: str
    python: Path
    module: str
    items: int
    processes: int
    batch: int

    def run(self, conninfo: str) -> Life:
        """Let the items live in an empty database."""
        numbers = map(str, (self.items, self.processes, self.batch))
        result = subprocess.run(
            [self.python, "-m", self.module, conninfo, *numbers],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise RuntimeError(f"{self.name} ended with {result.returncode}:\n{result.stderr}")
        return Life(**json.loads(result.stdout))


def detent() -> Contender:
    return Contender(
        name="Detent",
        python=Path(sys.executable),
        module="benchmarks.ours",
        items=600_000,
        processes=2,
        batch=2000,
    )


def pgqueuer() -> Contender:
    """PGQueuer with batches of 100, about what its documentation shows."""
    return Contender(
        name="PGQueuer",
        python=environment.interpreter(),
        module="benchmarks.peers.pgqueuer_run",
        items=200_000,
        processes=2,
        batch=100,
    )


def pgqueuer_at_its_best() -> Contender:
    """PGQueuer with the batches that were found to be best for it."""
    return replace(pgqueuer(), name="PGQueuer, batches of 3,000", items=300_000, batch=3000)


def procrastinate() -> Contender:
    """Procrastinate as its documentation shows it; its batch is the number of jobs that run at the same time."""
    return Contender(
        name="procrastinate",
        python=environment.interpreter(),
        module="benchmarks.peers.procrastinate_run",
        items=15_000,
        processes=2,
        batch=10,
    )


def procrastinate_at_its_best() -> Contender:
    """Procrastinate over connections that commit each statement."""
    return replace(procrastinate(), name="procrastinate, tuned", module="benchmarks.peers.procrastinate_best_run")
