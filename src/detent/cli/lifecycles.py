"""`detent lifecycles`: the states that items go through, as tables and diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import document
from detent.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detent.application.lifecycles import ShownLifecycle


@click.command(cls=Command, short_help="Show the states that items go through.")
@click.argument("name", required=False)
@click.option("--mermaid", "diagram", is_flag=True, help="Print only the diagram of NAME, as Mermaid text.")
@with_session
@as_json("""
    lifecycles  a list (of one, with NAME) of: name, initial, entries, states, a list of: state, meaning;
    moves, a list of: state, event, to; failure_kinds, the kind of error by state; mermaid, the diagram
""")
def lifecycles(session: Session, name: str | None, diagram: bool, json_: bool) -> None:
    """List the lifecycles, or show the states and moves of the one called NAME, with its diagram.

    It shows Detent's own lifecycles, and those of the sources in the database.

    \b
    Examples:
      detent lifecycles
      detent lifecycles article
      detent lifecycles node --mermaid > node.mmd
    """
    from detent.application.lifecycles import lifecycles_at

    if diagram and (name is None or json_):
        raise click.UsageError("--mermaid needs one lifecycle: `detent lifecycles NAME --mermaid`.")
    chosen = session.finish(lambda: lifecycles_at(session.project, database=session.database, name=name))
    if json_:
        document({"lifecycles": [each.as_data() for each in chosen]})
    elif diagram:
        click.echo(chosen[0].mermaid, nl=False)
    elif name:
        _show(session, chosen[0])
    else:
        _list(session, chosen)


def _list(session: Session, chosen: Sequence[ShownLifecycle]) -> None:
    from detent.cli.drawing import table

    shown = table("Lifecycle", "Begins", "Waiting", "Working", "Failed", wide=["Waiting", "Working"])
    for each in chosen:
        roles = [[of.state for of in each.states if of.meaning == role] for role in ("waiting", "working", "failed")]
        begins = [of.state for of in each.states if of.state in each.entries]
        shown.add_row(each.name, *map(", ".join, (begins, *roles)))
    session.out.print(shown)
    session.say("\n`detent lifecycles NAME` shows the moves of one.")


def _show(session: Session, lifecycle: ShownLifecycle) -> None:
    from detent.cli.drawing import plain, table
    from detent.cli.standing import STYLES

    shown = table("State", "Meaning", "Event", "Next state")
    for each in lifecycle.states:
        first = (each.state, plain(each.meaning, style=STYLES[each.meaning]))
        for move in [move for move in lifecycle.moves if move.state == each.state]:
            shown.add_row(*first, move.event, move.to)
            first = ("", plain(""))
        if first[0]:
            shown.add_row(*first, "", "")
    session.say(f"The lifecycle {lifecycle.name}; items begin as {' or '.join(lifecycle.entries)}.\n")
    session.out.print(shown)
    session.say(f"\nAs a Mermaid diagram:\n\n{lifecycle.mermaid}")
