"""`detent sources`, `pause` and `resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import document, moment, number
from detent.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from detent.application.sources import ListedSource

_MOST_LISTED = 10


@click.command(cls=Command, short_help="List the sources.")
@with_session
@as_json("""
    sources     a list of: name, added_at, paused_at (null unless paused), type and settings (null unless it
    was added by `detent add`), labels, a list of: label, lifecycle, items
""")
def sources(session: Session, json_: bool) -> None:
    """List the sources: their settings, labels and lifecycles, and which are paused.

    \b
    Examples:
      detent sources
      detent sources --json
    """
    from detent.cli.status import NO_SOURCES, NOT_BEGUN

    found = session.with_db(lambda db: db.list_sources())
    if json_:
        document({"sources": [each.as_data() for each in found]})
    elif found:
        session.out.print(_table(found) if any(each.labels for each in found) else NOT_BEGUN)
        for each in found:
            if each.type is not None:
                session.say(_told(each))
    else:
        session.say(NO_SOURCES)


@click.command(cls=Command, short_help="Pause a source: stop claiming its items.")
@click.argument("source")
@with_session
def pause(session: Session, source: str) -> None:
    """Stop claiming items of SOURCE. Items in progress are finished.

    \b
    Examples:
      detent pause wiki
      detent resume wiki
    """
    session.with_db(lambda db: db.pause(source))
    session.say(f"{source} is paused: none of its items are claimed until `detent resume {source}`.")


@click.command(cls=Command, short_help="Resume a paused source.")
@click.argument("source")
@with_session
def resume(session: Session, source: str) -> None:
    """Resume SOURCE after a pause.

    \b
    Examples:
      detent resume wiki
    """
    if session.with_db(lambda db: db.resume(source)):
        session.say(f"{source} is resumed: `detent run` and `detent work` process its items again.")
    else:
        session.say(f"{source} was not paused.")


def _table(found: Sequence[ListedSource]) -> Table:
    from detent.cli.drawing import plain, table

    shown = table("Source", "Label", "Lifecycle", "Items", "Paused", numbers=["Items"])
    for source in found:
        words = f"since {moment(source.paused_at)}" if source.paused_at else ""
        for each in source.labels:
            shown.add_row(plain(source.name), plain(each.label), each.lifecycle, number(each.items), words)
    return shown


def _told(source: ListedSource) -> str:
    """The settings of a source in words, without empty ones."""
    settings = source.settings or {}
    said = {name: value for name, value in settings.items() if value is not False and value not in (None, [], "")}
    words = (f"{name} {_listed(value) if isinstance(value, list) else value}" for name, value in said.items())
    return f"{source.name} ({source.type}): {'; '.join(words)}"


def _listed(values: Sequence[object]) -> str:
    more = len(values) - _MOST_LISTED
    return ", ".join(map(str, values[:_MOST_LISTED])) + (f" and {number(more)} more" if more > 0 else "")
