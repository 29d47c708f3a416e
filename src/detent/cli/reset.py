"""`detent reset`: items back to the beginning."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, filters, with_session
from detent.cli.output import counted
from detent.cli.retry import require_choice
from detent.cli.selection import Selection, find
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.store import Store

DECLINED = 130
"""The exit status where somebody answers no, as if by Ctrl-C."""


@click.command(cls=Command, short_help="Put items back to the beginning.")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@filters
@click.option("--state", help="Only items in this state.")
@click.option("--error-kind", help="Only items with this kind of error, such as timeout or not_found.")
@click.option("--all", "all_", is_flag=True, help="Every item there is.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where nobody can answer: in scripts, under cron.")
@with_session
def reset(
    session: Session,
    *,
    keys: Sequence[str],
    source: str | None,
    label: str | None,
    state: str | None,
    error_kind: str | None,
    all_: bool,
    yes: bool,
) -> None:
    """Put items back to the beginning of their lifecycle, whatever their state: those named by KEY, or all
    that the options choose.

    All of their work is done again, and their attempts are forgotten; what they produced stays until it is
    replaced. A worker that has such an item loses it, and what it does with it is not written.

    \b
    Examples:
      detent reset "Alan Turing"
      detent reset --source docs --label File
      detent reset --all --yes
    """
    selection = Selection(source, label, state, error_kind)
    require_choice(keys, selection, all_, "--source, --label, --state or --error-kind")

    async def restarted(opened: Connected) -> None:
        store = opened.store
        named = [await find(store, key, selection) for key in keys]
        count = len(named) if keys else await _count(store, selection)
        if not count:
            session.say("There are no such items.")
            return
        confirm(f"Put {counted(count, 'item')} back to the beginning?", yes)
        sent = await store.reset(named) if keys else await _reset(store, selection)
        await store.notices.hint()
        session.say(f"{counted(sent, 'item')} put back to the beginning.")

    session.with_store(restarted)


def confirm(question: str, yes: bool) -> None:
    """Ask a person. Where there is none, nobody is asked, and nothing is done without --yes."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can be asked here, so nothing was done: say --yes to do it.")
    if not click.confirm(question, err=True):
        click.echo("Nothing was done.", err=True)
        raise click.exceptions.Exit(DECLINED)


async def _count(store: Store, selection: Selection) -> int:
    """How many items are meant: from the tallies, unless the kind of error matters."""
    kinds = {(kind.source, kind.label) for kind in await selection.kinds(store)}
    if selection.error_kind is not None:
        return sum([len(ids) async for ids in selection.pages(store)])
    counts = await store.count_by_state()
    wanted = [line for line in counts if selection.state in (None, line.state)]
    return sum(line.count for line in wanted if (line.source, line.label) in kinds)


async def _reset(store: Store, selection: Selection) -> int:
    return sum([await store.reset(ids) async for ids in selection.pages(store)])
