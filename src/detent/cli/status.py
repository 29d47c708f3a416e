"""`detent status`: how many items are where, and who works on them. Only tallies and leases are read, and for JSON also
what failed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import ago, counted, document, moment, number
from detent.cli.session import Session
from detent.errors import DatabaseAway, DetentError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from detent.application.connecting import Connected
    from detent.cli.standing import Standing
    from detent.interfaces import BrainStatus
    from detent.store import Holder, Origin, Store, Tally

NO_SOURCES = (
    "No sources are known yet. `detent add files NAME FOLDER` adds a folder, and `detent add wiki` a wiki; "
    "`detent run` makes those known that your modules declare."
)

NOT_BEGUN = "No items are known yet: the next `detent run` lets the sources name theirs."

_HELD_BACK = "Held back is what is beyond the number of items that is asked for; of a wiki, that is its --target."

_REFRESH_SECONDS = 1.0


@dataclass(frozen=True)
class Overview:
    """What the database said a moment ago."""

    at: datetime
    origins: Sequence[Origin]
    tallies: Sequence[Tally]
    standings: Sequence[Standing]
    holders: Sequence[Holder]

    @property
    def facts(self) -> tuple[object, ...]:
        """What a watcher would call a change."""
        return self.origins, self.standings, [(holder.owner, holder.items) for holder in self.holders]


@click.command(cls=Command, short_help="Show how many items are in which state, and who works on them.")
@click.option("--watch", is_flag=True, help="Keep showing it until Ctrl-C; into a file or pipe: at every change.")
@with_session
@as_json("""
    at          when it was asked
    totals      items, waiting, held_back, working, failed, stopped, done: how many
    sources     a list of: name, added_at, paused_at (null unless paused), labels, a list of: label,
    lifecycle, total, waiting, held_back, working, failed, stopped, done, states, a list of: state, meaning,
    count, held_back (how many of these)
    workers     a list of: owner, items, leases, since, deadline
    states      how many items are in each state, of all sources together
    labels      the same for each label
    errors      a list of: label, error_type, count (of the first 10,000 failed ones), keys (5 at most)
    embedding   current and next: the model that search uses, and the one that is to take its place, with
    provider, model, dimensions; null where there is none
    expansions  a list, for each source of articles, of: source, label, distribution, a list of: state, count,
    avg_depth; queue_size, loaded_count, total, percent_complete, target, stale_claims, a list of: title,
    claimed_at, expansion_depth
""")
def status(session: Session, watch: bool, json_: bool) -> None:
    """Show how many items are in which state, and who works on them now.

    It reads counts that are kept with every move, so it answers at once however many items there are.

    \b
    Examples:
      detent status
      detent status --watch
      detent status --json | jq .totals.failed
    """
    if watch and json_:
        raise click.UsageError("--watch and --json do not go together: one document is asked once.")
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            session.with_store(lambda opened: _watch(session, opened))
        return
    session.with_store(lambda opened: _show(session, opened, json_))


async def look(store: Store) -> Overview:
    from detent.cli.standing import shut_out, standings

    kinds, tallies = await store.kinds.select(), await store.count_by_state()
    known = standings(kinds, tallies, await shut_out(store, kinds))
    return Overview(datetime.now(UTC), await store.sources.all(), tallies, known, await store.workers())


async def _show(session: Session, opened: Connected, json_: bool) -> None:
    overview = await look(opened.store)
    if json_:
        from detent.interfaces.brain_status import read_brain_status
        from detent.interfaces.expansion_status import read_expansion_status

        expansions = [each.as_data() for each in await read_expansion_status(opened.store, overview.tallies)]
        document(
            {**_document(overview, await read_brain_status(opened.store, overview.tallies)), "expansions": expansions}
        )
    else:
        session.out.print(_picture(overview))


async def _watch(session: Session, opened: Connected) -> None:
    if session.out.is_terminal:
        await _watch_live(session, opened)
    else:
        await _watch_changes(session, opened)


async def _watch_live(session: Session, opened: Connected) -> None:
    from rich.live import Live

    with Live(console=session.out, auto_refresh=False, vertical_overflow="visible") as live:
        async for seen in _glances(opened):
            live.update(_picture(seen) if isinstance(seen, Overview) else f"{seen} Looking again.", refresh=True)


async def _watch_changes(session: Session, opened: Connected) -> None:
    before: object = None
    async for seen in _glances(opened):
        if isinstance(seen, Overview) and seen.facts != before:
            session.say(f"At {moment(seen.at)}:")
            session.out.print(_picture(seen))
            session.out.print()
            session.out.file.flush()
        elif isinstance(seen, DatabaseAway) and before is not DatabaseAway:
            session.err.print(f"{seen} Looking again.", soft_wrap=True)
        before = seen.facts if isinstance(seen, Overview) else DatabaseAway


async def _glances(opened: Connected) -> AsyncIterator[Overview | DatabaseAway]:
    """What the database says, again and again; while it is away, that it is."""
    import asyncio

    while True:
        try:
            yield await look(opened.store)
        except DatabaseAway as away:
            yield away
            with contextlib.suppress(DetentError):
                await opened.located.revive()
        await asyncio.sleep(_REFRESH_SECONDS)


def _picture(overview: Overview) -> RenderableType:
    from rich.console import Group

    if not overview.origins:
        return NO_SOURCES
    if not overview.standings:
        return NOT_BEGUN
    parts: list[RenderableType] = [_states(overview), "", _summary(overview)]
    if overview.holders:
        parts += ["", _workers(overview)]
    return Group(*parts)


def _states(overview: Overview) -> RenderableType:
    from detent.cli.drawing import plain, table
    from detent.cli.standing import STYLES

    paused = {origin.name for origin in overview.origins if origin.paused_at}
    shown = table("Source", "Label", "State", "Items", "Meaning", numbers=["Items"])
    for standing in overview.standings:
        kind = standing.kind
        source = f"{kind.source} (paused)" if kind.source in paused else kind.source
        for state, role, count in standing.rows():
            means = plain(_words(role), style=STYLES[role])
            shown.add_row(plain(source), plain(kind.label), state, number(count), means)
            source = ""
        shown.add_row(plain(source), plain(kind.label, style="bold"), "total", number(standing.total), "")
    return shown


def _summary(overview: Overview) -> RenderableType:
    from detent.cli.drawing import plain
    from detent.cli.standing import FAILED, HELD_BACK

    totals = _totals(overview)
    words = ", ".join(f"{number(totals[name])} {_words(name)}" for name in totals if name != "items" and totals[name])
    sentence = f"{counted(totals['items'], 'item')}{f': {words}' if words else ''}."
    if totals[HELD_BACK]:
        sentence += f" {_HELD_BACK}"
    if not totals[FAILED]:
        return plain(sentence)
    states = sorted({state for each in overview.standings for state in each.kind.lifecycle.failures & set(each.states)})
    commands = ", ".join(f"detent items --state {state}" for state in states)
    return plain(f"{sentence} See what failed: {commands}")


def _words(role: str) -> str:
    return role.replace("_", " ")


def _workers(overview: Overview) -> RenderableType:
    from detent.cli.drawing import plain, table

    shown = table("Worker", "Items held", "Since", "Lease", numbers=["Items held"])
    for holder in overview.holders:
        left = (holder.deadline - overview.at).total_seconds()
        lease = f"renewed for {left:.0f} s more" if left > 0 else "has run out"
        shown.add_row(plain(holder.owner), number(holder.items), ago(holder.since, overview.at), lease)
    return shown


def _totals(overview: Overview) -> dict[str, int]:
    from detent.cli.standing import STYLES

    totals = {"items": sum(standing.total for standing in overview.standings)}
    return totals | {name: sum(standing.of(name) for standing in overview.standings) for name in STYLES}


def _document(overview: Overview, brain: BrainStatus) -> dict[str, Any]:
    told = brain.as_data()
    return {
        "at": overview.at,
        "totals": _totals(overview),
        "sources": [
            {
                "name": origin.name,
                "added_at": origin.added_at,
                "paused_at": origin.paused_at,
                "labels": [_label(each) for each in overview.standings if each.kind.source == origin.name],
            }
            for origin in overview.origins
        ],
        "workers": [
            {
                "owner": holder.owner,
                "items": holder.items,
                "leases": holder.leases,
                "since": holder.since,
                "deadline": holder.deadline,
            }
            for holder in overview.holders
        ],
        **{name: told[name] for name in ("states", "labels", "errors", "embedding")},
    }


def _label(standing: Standing) -> dict[str, Any]:
    from detent.cli.standing import STYLES, meaning

    lifecycle, held_back = standing.kind.lifecycle, standing.held_back
    return {
        "label": standing.kind.label,
        "lifecycle": lifecycle.name,
        "total": standing.total,
        **{name: standing.of(name) for name in STYLES},
        "states": [
            {"state": state, "meaning": meaning(lifecycle, state), "count": count, "held_back": held_back.get(state, 0)}
            for state, count in standing.states.items()
        ],
    }
