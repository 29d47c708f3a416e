"""How many items per second live their full life: enqueued, claimed, finished, with nothing to do in between."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks import contenders, postgres
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, at_least

ROUNDS = 3
GOALS = {
    "PGQueuer": 3.0,
    "PGQueuer, batches of 3,000": None,
    "procrastinate": 50.0,
    "procrastinate, tuned": None,
}


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """Items per second through enqueue, claim and finish, beside PGQueuer and procrastinate."""
    tell("making ready the peers and the server")
    rivals = [
        contenders.detent(),
        contenders.pgqueuer(),
        contenders.pgqueuer_at_its_best(),
        contenders.procrastinate(),
        contenders.procrastinate_at_its_best(),
    ]
    with postgres.server() as server:
        return figures(race(rivals, server, tell))


def race(rivals: Sequence[Contender], server: str, tell: Callable[[str], None]) -> dict[str, float]:
    """The median of every contender's items per second, over rounds in alternating order."""
    rates: dict[str, list[float]] = {rival.name: [] for rival in rivals}
    for turn in range(ROUNDS):
        for rival in rivals if turn % 2 == 0 else reversed(rivals):
            tell(f"round {turn + 1} of {ROUNDS}: {rival.name}, {rival.items:,} items")
            with postgres.empty_database(server) as conninfo:
                rates[rival.name].append(rival.run(conninfo).items_per_second)
    return {name: median(found) for name, found in rates.items()}


def figures(rates: dict[str, float]) -> list[Figure]:
    """Each contender's rate, and how many times each peer's Detent's is."""
    found = [Figure(name, rate, "items/s") for name, rate in rates.items()]
    for peer, goal in GOALS.items():
        times = rates["Detent"] / rates[peer]
        beside = f"{peer} {rates[peer]:,.0f}/s"
        name = f"Detent ÷ {peer}"
        found.append(
            Figure(name, times, "times", peer=beside)
            if goal is None
            else at_least(goal, name, times, "times", peer=beside)
        )
    return found
