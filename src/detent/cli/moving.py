"""`detent retry`, `reset` and `skip`: items are moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detent.cli.confirming import confirm
from detent.cli.options import Command, as_json, with_session
from detent.cli.output import counted, document
from detent.cli.selection import item_filters, require_choice
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.values import Moved

F = TypeVar("F", bound=Callable[..., Any])

_FIELDS = """
    count       how many items were moved, or would be
    refused     a list of those named by KEY that could not be moved, with the fields of `detent items`
    dry_run     whether nothing was done
"""


def _chosen(everything: str) -> Callable[[F], F]:
    """The keys and options that choose items, and --dry-run."""

    def decorate(command: F) -> F:
        command = click.option("--dry-run", is_flag=True, help="Say how many items it would be, and do nothing.")(
            command
        )
        command = click.option("--all", "everything", is_flag=True, help=everything)(command)
        return click.argument("keys", nargs=-1, metavar="[KEY]...")(item_filters(command))

    return decorate


@click.command(cls=Command, short_help="Retry failed items.")
@_chosen("Every item that failed.")
@click.option("--to", metavar="STATE", help="The state to go back to, where the lifecycle allows several.")
@with_session
@as_json(_FIELDS)
def retry(
    session: Session,
    *,
    keys: Sequence[str],
    everything: bool,
    to: str | None,
    dry_run: bool,
    json_: bool,
    **narrowed: Any,
) -> int:
    """Retry failed items: those named by KEY, or all that the options choose.

    Each is tried once more; the attempts made so far still count. Work begins with the next `detent run`, or at
    once where `detent work` is running. The exit status is 1 if an item named by KEY has not failed.

    \b
    Examples:
      detent retry "Alan Turing"
      detent retry --source wiki --error-kind timeout --dry-run
      detent retry --all
    """
    require_choice(keys, narrowed, everything)

    async def retried(db: AsyncDetent) -> Moved:
        chosen = await _choice(db, keys, everything, narrowed)
        return await db.retry(**chosen, to=to, dry_run=dry_run)

    moved = session.with_db(retried)
    words = ("Retried", "Would retry", "No such items have failed.")
    return _tell(
        session, moved, words, "only failed items are retried; `detent reset` begins anew with any item", json_
    )


@click.command(cls=Command, short_help="Put items back to the beginning.")
@_chosen("Every item there is.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where nobody can answer: in scripts, under cron.")
@with_session
@as_json(_FIELDS)
def reset(
    session: Session,
    *,
    keys: Sequence[str],
    everything: bool,
    yes: bool,
    dry_run: bool,
    json_: bool,
    **narrowed: Any,
) -> int:
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
    require_choice(keys, narrowed, everything)

    async def restarted(db: AsyncDetent) -> Moved:
        chosen = await _choice(db, keys, everything, narrowed)
        found = await db.reset(**chosen, dry_run=True)
        if dry_run or not found.count:
            return found
        confirm(f"Put {counted(found.count, 'item')} back to the beginning?", yes)
        return await db.reset(**chosen)

    words = ("Reset", "Would reset", "There are no such items.")
    return _tell(session, session.with_db(restarted), words, "it could not be reset", json_)


@click.command(cls=Command, short_help="Skip items that wait or failed.")
@_chosen("Every item that can be skipped.")
@with_session
@as_json(_FIELDS)
def skip(
    session: Session, *, keys: Sequence[str], everything: bool, dry_run: bool, json_: bool, **narrowed: Any
) -> int:
    """Skip items that wait or failed: those named by KEY, or all that the options choose. Nothing more is done for
    them until they change, or are reset.

    Items can be skipped whose lifecycle has a way to: `detent lifecycles NAME` shows it. The exit status is 1 if an
    item named by KEY cannot be skipped.

    \b
    Examples:
      detent skip big.csv
      detent skip --source docs --state error --dry-run
    """
    require_choice(keys, narrowed, everything)

    async def skipped(db: AsyncDetent) -> Moved:
        return await db.skip(**await _choice(db, keys, everything, narrowed), dry_run=dry_run)

    words = ("Skipped", "Would skip", "No such items can be skipped.")
    return _tell(session, session.with_db(skipped), words, "its lifecycle does not let it be skipped from there", json_)


async def _choice(db: AsyncDetent, keys: Sequence[str], everything: bool, narrowed: dict[str, Any]) -> dict[str, Any]:
    """The items that are meant, as the verbs take them. With keys, --source and --label say which is meant by one."""
    if not keys:
        return {**narrowed, "everything": everything}
    return {"ids": [await db.find_one(key, source=narrowed["source"], label=narrowed["label"]) for key in keys]}


def _tell(session: Session, moved: Moved, words: tuple[str, str, str], why_not: str, json_: bool) -> int:
    """Say what was done, and why some items were left as they are; returns the exit status."""
    done, would, nothing = words
    if json_:
        document(moved.as_data())
    elif moved.count:
        session.say(f"{would if moved.dry_run else done} {counted(moved.count, 'item')}.")
    elif not moved.refused:
        session.say(nothing)
    for item in () if json_ else moved.refused:
        session.err.print(f"{item.key} was left as it is, {item.state}: {why_not}.", soft_wrap=True)
    return 1 if moved.refused else 0
