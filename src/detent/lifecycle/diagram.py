"""A lifecycle as a diagram, and all lifecycles as a page of documentation, drawn from their tables."""

from collections.abc import Iterable

from detent.lifecycle.table import Lifecycle


def mermaid(lifecycle: Lifecycle) -> str:
    """Return the Mermaid text of the lifecycle; states that mean work under way have the class `working`."""
    later_entries = sorted(lifecycle.entries - {lifecycle.initial})
    lines = [
        "stateDiagram-v2",
        *[f"    [*] --> {entry}" for entry in (lifecycle.initial, *later_entries)],
        *[f"    {move.state} --> {move.to}: {move.event}" for move in lifecycle.moves],
        "    classDef working font-weight:bold",
        *[f"    class {state} working" for state in lifecycle.states if state in lifecycle.working],
    ]
    return "\n".join(lines) + "\n"


def document(lifecycles: Iterable[Lifecycle]) -> str:
    """Return a Markdown page with a section per lifecycle: the meaning of its states, its rows, and its diagram."""
    return "\n".join([_PREFACE, *[_section(lifecycle) for lifecycle in lifecycles]])


_PREFACE = """# Lifecycles

Every item is in one state of its lifecycle, and moves only as a row of the lifecycle's table says; any other
move is refused, and nothing is written. This page is drawn from those tables.

| event | why the item moves |
|---|---|
| `claim` | a worker takes the item |
| `step` | the work goes on to its next phase, or a finished item moves one state further |
| `done` | the work succeeded |
| `skip` | there is nothing to do for this item |
| `fail` | the work failed for good |
| `back` | the item is given back undone: a retry, a release, an expired lease |
| `retry` | a person or a retry decision retries a failed item |
| `change` | the content behind the item changed |
| `pause` | a person paused the work |
| `resume` | a person resumed the work |

Where a table has no row `back`, an item is given back through failure: `fail`, then `retry`.
"""


def _section(lifecycle: Lifecycle) -> str:
    roles = [
        ("Items enter at", lifecycle.entries),
        ("They wait for a worker in", lifecycle.waiting),
        ("A worker has them in", lifecycle.working),
        ("They have failed in", lifecycle.failures),
    ]
    sentences = [f"{words} {_quoted(lifecycle, states)}." for words, states in roles if states]
    rows = [f"| `{move.state}` | `{move.event}` | `{move.to}` |" for move in lifecycle.moves]
    return "\n".join(
        [
            f"## {lifecycle.name}",
            "",
            *sentences,
            "",
            "| state | event | next state |",
            "|---|---|---|",
            *rows,
            "",
            "```mermaid",
            f"{mermaid(lifecycle)}```",
            "",
        ]
    )


def _quoted(lifecycle: Lifecycle, states: Iterable[str]) -> str:
    return ", ".join(f"`{state}`" for state in lifecycle.states if state in states)
