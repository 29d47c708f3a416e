"""`detent status`: the number of items in each state, and their workers. Reads only tallies and leases, and for JSON
also failures."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import ago, counted, document, moment, number
from detent.cli.session import Session
from detent.errors import DatabaseAway

if TYPE_CHECKING:
    from rich.console import RenderableType

    from detent.application import AsyncDetent
    from detent.application.standing import LabelStatus
    from detent.application.status import Status

NO_SOURCES = (
    "No sources are known yet. `detent add files NAME FOLDER` adds a folder, and `detent add wiki` a wiki; "
    "`detent run` adds the sources that your modules declare."
)

NOT_BEGUN = "No items are known yet: the next `detent run` discovers them."

_HELD_BACK = "Held back: items beyond the source's limit; for a wiki, that is its --target."

_REFRESH_SECONDS = 1.0


@click.command(cls=Command, short_help="Show how many items are in which state, and who works on them.")
@click.option("--watch", is_flag=True, help="Update until Ctrl-C; in a file or pipe, print every change.")
@with_session
@as_json("""
    at          when it was read
    totals      items, waiting, held_back, working, failed, stopped, done: how many
    sources     a list of: name, added_at, paused_at (null unless paused), labels, a list of: label,
    lifecycle, total, waiting, held_back, working, failed, stopped, done, states, a list of: state, meaning,
    count, held_back (how many of these)
    workers     a list of: owner, items, leases, since, deadline
    states      how many items are in each state, of all sources together
    labels      the same for each label
    errors      a list of: label, error_type, count (of the first 10,000 failed ones), keys (5 at most)
    embedding   current and next: the model that search uses, and the one that will replace it, with
    provider, model, dimensions; null where there is none
    services    a list of: service, until, reason; services that refused, and are left alone until then
    expansions  a list, for each source of articles, of: source, label, distribution, a list of: state, count,
    avg_depth; queue_size, loaded_count, total, percent_complete, target, stale_claims, a list of: title,
    claimed_at, expansion_depth
""")
def status(session: Session, watch: bool, json_: bool) -> None:
    """Show how many items are in which state, and who works on them now.

    It reads counts that every move keeps up to date, so it is fast for any number of items.

    \b
    Examples:
      detent status
      detent status --watch
      detent status --json | jq .totals.failed
    """
    if watch and json_:
        raise click.UsageError("--watch and --json exclude each other: --json prints one document.")
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            session.with_db(lambda db: _watch(session, db))
        return
    found = session.with_db(lambda db: db.status(details=json_))
    if json_:
        document(found.as_data())
    else:
        session.out.print(_picture(found))


async def _watch(session: Session, db: AsyncDetent) -> None:
    if session.out.is_terminal:
        await _watch_live(session, db)
    else:
        await _watch_changes(session, db)


async def _watch_live(session: Session, db: AsyncDetent) -> None:
    from rich.live import Live

    with Live(console=session.out, auto_refresh=False, vertical_overflow="visible") as live:
        async for seen in _glances(db):
            live.update(_picture(seen) if not isinstance(seen, DatabaseAway) else f"{seen} Trying again.", refresh=True)


async def _watch_changes(session: Session, db: AsyncDetent) -> None:
    before: object = None
    async for seen in _glances(db):
        if not isinstance(seen, DatabaseAway) and _facts(seen) != before:
            session.say(f"At {moment(seen.at)}:")
            session.out.print(_picture(seen))
            session.out.print()
            session.out.file.flush()
        elif isinstance(seen, DatabaseAway) and before is not DatabaseAway:
            session.err.print(f"{seen} Trying again.", soft_wrap=True)
        before = _facts(seen) if not isinstance(seen, DatabaseAway) else DatabaseAway


async def _glances(db: AsyncDetent) -> AsyncIterator[Status | DatabaseAway]:
    """Yield the status again and again, or the error while the database is away."""
    import asyncio

    while True:
        try:
            yield await db.status()
        except DatabaseAway as away:
            yield away
            await db.revive()
        await asyncio.sleep(_REFRESH_SECONDS)


def _facts(seen: Status) -> tuple[object, ...]:
    """The part of a status whose changes are printed."""
    return seen.sources, [(holder.owner, holder.items) for holder in seen.workers]


def _picture(seen: Status) -> RenderableType:
    from rich.console import Group

    if not seen.sources:
        return NO_SOURCES
    if not seen.labels:
        return NOT_BEGUN
    parts: list[RenderableType] = [_states(seen), "", _summary(seen)]
    if seen.workers:
        parts += ["", _workers(seen)]
    return Group(*parts)


def _states(seen: Status) -> RenderableType:
    from detent.cli.drawing import plain, table
    from detent.cli.standing import STYLES

    shown = table("Source", "Label", "State", "Items", "Meaning", numbers=["Items"])
    for label in [each for each in seen.labels if each.total] or seen.labels:
        source = f"{label.source} (paused)" if label.paused else label.source
        for state, role, count in _rows(label):
            means = plain(_words(role), style=STYLES[role])
            shown.add_row(plain(source), plain(label.label), state, number(count), means)
            source = ""
        shown.add_row(plain(source), plain(label.label, style="bold"), "total", number(label.total), "")
    return shown


def _rows(label: LabelStatus) -> list[tuple[str, str, int]]:
    """The states with their meaning and number of items; items that are held back are separate."""
    found = []
    for each in label.states:
        if each.held_back < each.count or not each.count:
            found.append((each.state, each.meaning, each.count - each.held_back))
        if each.held_back:
            found.append((each.state, "held_back", each.held_back))
    return found


def _summary(seen: Status) -> RenderableType:
    from detent.cli.drawing import plain

    totals = seen.totals
    words = ", ".join(f"{number(totals[name])} {_words(name)}" for name in totals if name != "items" and totals[name])
    sentence = f"{counted(totals['items'], 'item')}{f': {words}' if words else ''}."
    if totals["held_back"]:
        sentence += f" {_HELD_BACK}"
    if not totals["failed"]:
        return plain(sentence)
    states = sorted({each.state for label in seen.labels for each in label.states if each.meaning == "failed"})
    commands = ", ".join(f"detent items --state {state}" for state in states)
    return plain(f"{sentence} See what failed: {commands}")


def _words(role: str) -> str:
    return role.replace("_", " ")


def _workers(seen: Status) -> RenderableType:
    from detent.cli.drawing import plain, table

    shown = table("Worker", "Items held", "Since", "Lease", numbers=["Items held"])
    for holder in seen.workers:
        left = (holder.deadline - seen.at).total_seconds()
        lease = f"expires in {left:.0f} s" if left > 0 else "expired"
        shown.add_row(plain(holder.owner), number(holder.items), ago(holder.since, seen.at), lease)
    return shown
