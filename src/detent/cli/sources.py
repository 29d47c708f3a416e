"""`detent sources`, `pause` and `resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import document, moment, number
from detent.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from detent.application.connecting import Connected
    from detent.cli.status import Overview
    from detent.store.ledger.sources import Configured

_MOST_LISTED = 10


@click.command(cls=Command, short_help="List the sources.")
@with_session
@as_json("""
    sources     a list of: name, added_at, paused_at (null unless paused), type and settings (null unless it
    was added by `detent add`), labels, a list of: label, lifecycle, items
""")
def sources(session: Session, json_: bool) -> None:
    """List the sources: what they were told to take, what labels they have, what lifecycle each follows, and which
    are paused.

    \b
    Examples:
      detent sources
      detent sources --json
    """
    session.with_store(lambda opened: _show(session, opened, json_))


@click.command(cls=Command, short_help="Let nothing more of a source be worked on.")
@click.argument("source")
@with_session
def pause(session: Session, source: str) -> None:
    """Let nothing more of SOURCE be claimed. What workers have of it is finished.

    \b
    Examples:
      detent pause wiki
      detent resume wiki
    """

    async def paused(opened: Connected) -> None:
        await opened.store.pause(source)
        session.say(f"{source} is paused: none of its items are claimed until `detent resume {source}`.")

    session.with_store(paused)


@click.command(cls=Command, short_help="Let a paused source be worked on again.")
@click.argument("source")
@with_session
def resume(session: Session, source: str) -> None:
    """Let SOURCE be worked on again after a pause.

    \b
    Examples:
      detent resume wiki
    """

    async def resumed(opened: Connected) -> None:
        paused = {origin.name for origin in await opened.store.sources.all() if origin.paused_at}
        await opened.store.resume(source)
        if source in paused:
            session.say(f"{source} is worked on again, by whoever runs `detent run` or `detent work`.")
        else:
            session.say(f"{source} was not paused.")

    session.with_store(resumed)


async def _show(session: Session, opened: Connected, json_: bool) -> None:
    from detent.cli.status import NO_SOURCES, NOT_BEGUN, look

    overview = await look(opened.store)
    configured = {each.name: each for each in await opened.store.sources.configured()}
    if json_:
        document(_document(overview, configured))
    elif overview.origins:
        session.out.print(_table(overview) if overview.standings else NOT_BEGUN)
        for each in configured.values():
            session.say(_told(each))
    else:
        session.say(NO_SOURCES)


def _table(overview: Overview) -> Table:
    from detent.cli.drawing import plain, table

    paused = {origin.name: origin.paused_at for origin in overview.origins}
    shown = table("Source", "Label", "Lifecycle", "Items", "Paused", numbers=["Items"])
    for each in overview.standings:
        since = paused.get(each.kind.source)
        words = f"since {moment(since)}" if since else ""
        kind = each.kind
        shown.add_row(plain(kind.source), plain(kind.label), kind.lifecycle.name, number(each.total), words)
    return shown


def _told(source: Configured) -> str:
    """What a source was told to take, in words: its settings, but for those that say nothing."""
    said = {name: value for name, value in source.shown.items() if value is not False and value not in (None, [], "")}
    words = (f"{name} {_listed(value) if isinstance(value, list) else value}" for name, value in said.items())
    return f"{source.name} ({source.type}): {'; '.join(words)}"


def _listed(values: Sequence[object]) -> str:
    more = len(values) - _MOST_LISTED
    return ", ".join(map(str, values[:_MOST_LISTED])) + (f" and {number(more)} more" if more > 0 else "")


def _document(overview: Overview, configured: Mapping[str, Configured]) -> dict[str, Any]:
    def told(name: str) -> dict[str, Any]:
        source = configured.get(name)
        return {"type": source.type, "settings": source.shown} if source else {"type": None, "settings": None}

    return {
        "sources": [
            {
                "name": origin.name,
                "added_at": origin.added_at,
                "paused_at": origin.paused_at,
                **told(origin.name),
                "labels": [
                    {"label": each.kind.label, "lifecycle": each.kind.lifecycle.name, "items": each.total}
                    for each in overview.standings
                    if each.kind.source == origin.name
                ],
            }
            for origin in overview.origins
        ]
    }
