"""`detent retry`: failed items once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, filters, with_session
from detent.cli.output import counted
from detent.cli.selection import Selection, find
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.store import Store


@click.command(cls=Command, short_help="Send failed items round once more.")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@filters
@click.option("--error-kind", help="Only items with this kind of error, such as timeout or not_found.")
@click.option("--all", "all_", is_flag=True, help="Every item that failed.")
@click.option("--to", metavar="STATE", help="The state to go back to, where the lifecycle allows several.")
@with_session
def retry(
    session: Session,
    *,
    keys: Sequence[str],
    source: str | None,
    label: str | None,
    error_kind: str | None,
    all_: bool,
    to: str | None,
) -> int:
    """Send failed items round once more: those named by KEY, or all that the options choose.

    Each is tried once more; the attempts made so far still count. Work begins with the next `detent run`, or at
    once where `detent work` is running. The exit status is 1 if an item named by KEY was not sent round.

    \b
    Examples:
      detent retry "Alan Turing"
      detent retry --source wiki --error-kind timeout
      detent retry --all
    """
    selection = Selection(source, label, error_kind=error_kind)
    require_choice(keys, selection, all_, "--source, --label or --error-kind")

    async def retried(opened: Connected) -> int:
        if keys:
            return await _named(session, opened.store, keys, selection, to)
        return await _chosen(session, opened.store, selection, to)

    return session.with_store(retried)


def require_choice(keys: Sequence[str], selection: Selection, all_: bool, options: str) -> None:
    """Items are named, chosen by options, or all; never all by forgetting to say which."""
    if keys and (all_ or selection.error_kind or selection.state):
        raise click.UsageError("Name items by their keys or choose them by options, not both.")
    if not keys and not all_ and not selection.narrows:
        raise click.UsageError(f"Say which items: by their keys, by {options}, or --all.")


async def _named(session: Session, store: Store, keys: Sequence[str], selection: Selection, to: str | None) -> int:
    """Retry each item by itself, and say of those that were not sent round why."""
    ids = [await find(store, key, selection) for key in keys]
    refused = [each for each in ids if not await store.retry([each], to=to)]
    sent = len(ids) - len(refused)
    if sent:
        session.say(f"{counted(sent, 'item')} sent round once more.")
        await store.notices.hint()
    for each in refused:
        item = (await store.show(each)).item
        session.err.print(
            f"{item.key} was not sent round: it is {item.state}, and only failed items are retried. "
            "`detent reset` begins anew with any item.",
            soft_wrap=True,
        )
    return 1 if refused else 0


async def _chosen(session: Session, store: Store, selection: Selection, to: str | None) -> int:
    sent = 0
    async for ids in selection.pages(store, failed=True):
        sent += await store.retry(ids, to=to)
    if sent:
        await store.notices.hint()
    session.say(f"{counted(sent, 'item')} sent round once more." if sent else "No such items have failed.")
    return 0
