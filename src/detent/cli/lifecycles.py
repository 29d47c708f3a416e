"""`detent lifecycles`: the states that items go through, as tables and diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import document
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.lifecycle import Lifecycle


@click.command(cls=Command, short_help="Show the states that items go through.")
@click.argument("name", required=False)
@click.option("--mermaid", "diagram", is_flag=True, help="Only the diagram of NAME, as Mermaid text.")
@with_session
@as_json("""
    lifecycles  a list (of one, with NAME) of: name, initial, entries, states, a list of: state, meaning;
    moves, a list of: state, event, to; failure_kinds, the kind of error by state; mermaid, the diagram
""")
def lifecycles(session: Session, name: str | None, diagram: bool, json_: bool) -> None:
    """List the lifecycles, or show the states and moves of the one called NAME, with its diagram.

    There are Detent's own ones, and those that the sources in the database follow.

    \b
    Examples:
      detent lifecycles
      detent lifecycles article
      detent lifecycles node --mermaid > node.mmd
    """
    from detent.lifecycle import mermaid

    if diagram and (name is None or json_):
        raise click.UsageError("--mermaid is for one lifecycle: `detent lifecycles NAME --mermaid`.")
    known = _known(session)
    chosen = [_choose(name, known)] if name else list(known.values())
    if json_:
        document({"lifecycles": [_document(each) for each in chosen]})
    elif diagram:
        click.echo(mermaid(chosen[0]), nl=False)
    elif name:
        _show(session, chosen[0])
    else:
        _list(session, chosen)


def _known(session: Session) -> dict[str, Lifecycle]:
    from detent.lifecycle import BUILTIN
    from detent.postgres import describe

    async def kept(opened: Connected) -> dict[str, Lifecycle]:
        return dict(opened.store.kinds.lifecycles)

    project = session.found()
    exists = session.settings().database or (project and describe(project.folder).data_folder)
    return dict(BUILTIN) | (session.with_store(kept) if exists else {})


def _choose(name: str, known: dict[str, Lifecycle]) -> Lifecycle:
    from detent.store.ledger.kinds import unknown

    if name not in known:
        raise unknown("lifecycle", name, known)
    return known[name]


def _list(session: Session, chosen: list[Lifecycle]) -> None:
    from detent.cli.drawing import table

    shown = table("Lifecycle", "Begins", "Waiting", "Working", "Failed", wide=["Waiting", "Working"])
    for each in chosen:
        roles = (each.entries, each.waiting, each.working, each.failures)
        shown.add_row(each.name, *[", ".join(state for state in each.states if state in role) for role in roles])
    session.out.print(shown)
    session.say("\n`detent lifecycles NAME` shows the moves of one.")


def _show(session: Session, lifecycle: Lifecycle) -> None:
    from detent.cli.drawing import plain, table
    from detent.cli.standing import STYLES, meaning
    from detent.lifecycle import mermaid

    shown = table("State", "Meaning", "Event", "Next state")
    for state in lifecycle.states:
        role = meaning(lifecycle, state)
        first = (state, plain(role, style=STYLES[role]))
        for move in [move for move in lifecycle.moves if move.state == state]:
            shown.add_row(*first, str(move.event), move.to)
            first = ("", plain(""))
        if first[0]:
            shown.add_row(*first, "", "")
    session.say(f"The lifecycle {lifecycle.name}; items begin as {' or '.join(sorted(lifecycle.entries))}.\n")
    session.out.print(shown)
    session.say(f"\nAs a Mermaid diagram:\n\n{mermaid(lifecycle)}")


def _document(lifecycle: Lifecycle) -> dict[str, Any]:
    from detent.cli.standing import meaning
    from detent.lifecycle import mermaid

    return {
        "name": lifecycle.name,
        "initial": lifecycle.initial,
        "entries": sorted(lifecycle.entries),
        "states": [{"state": state, "meaning": meaning(lifecycle, state)} for state in lifecycle.states],
        "moves": [{"state": move.state, "event": str(move.event), "to": move.to} for move in lifecycle.moves],
        "failure_kinds": dict(lifecycle.failure_kinds),
        "mermaid": mermaid(lifecycle),
    }
