"""`detent` as people call it: in a process of its own, with the time and the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peak

DETENT = str(Path(sys.executable).with_name("detent"))


@dataclass(frozen=True)
class Run:
    """What a command said, and what it took."""

    output: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


def run(conninfo: str, *arguments: str) -> Run:
    measured = [sys.executable, "-I", "-S", peak.__file__, DETENT, "--database", conninfo, *arguments]
    output = subprocess.run(measured, check=True, stdout=subprocess.PIPE, text=True).stdout
    said, _, taken = output.rstrip().rpartition("\n")
    seconds, size = taken.split()
    return Run(said, float(seconds), int(size) / 1e6)
