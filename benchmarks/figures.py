"""What a benchmark found, as figures with their goals, and the file they are kept in."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path("build/bench")


@dataclass(frozen=True)
class Figure:
    """A measured value; with a goal, whether it is met; beside a peer, what the peer reached."""

    name: str
    value: float
    unit: str
    goal: str | None = None
    met: bool | None = None
    peer: str | None = None


def at_least(goal: float, name: str, value: float, unit: str, *, peer: str | None = None) -> Figure:
    """A figure that should reach the goal."""
    return Figure(name, value, unit, goal=f"≥ {goal:,g}", met=value >= goal, peer=peer)


def at_most(goal: float, name: str, value: float, unit: str, *, peer: str | None = None) -> Figure:
    """A figure that should stay below the goal."""
    return Figure(name, value, unit, goal=f"≤ {goal:,g}", met=value <= goal, peer=peer)


def write(benchmark: str, figures: Iterable[Figure]) -> Path:
    """Keep the figures of a benchmark in its file, instead of those found before."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{benchmark}.json"
    content = {"figures": [asdict(figure) for figure in figures]}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
