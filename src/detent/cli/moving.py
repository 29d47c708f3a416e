"""`detent retry`, `reset` and `skip`: move items manually."""

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
    count       number of items that were moved, or would be
    refused     a list of items given by KEY that could not be moved, with the fields of `detent items`
    dry_run     true if nothing was changed
"""


def _chosen(everything: str) -> Callable[[F], F]:
    """The keys and options that choose items, and --dry-run."""

    def decorate(command: F) -> F:
        command = click.option("--dry-run", is_flag=True, help="Report the number of items without changing anything.")(
            command
        )
        command = click.option("--all", "everything", is_flag=True, help=everything)(command)
        return click.argument("keys", nargs=-1, metavar="[KEY]...")(item_filters(command))

    return decorate


@click.command(cls=Command, short_help="Retry failed items.")
@_chosen("All failed items.")
@click.option("--to", metavar="STATE", help="The state to retry from, if the lifecycle allows several.")
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
    """Retry failed items: those given by KEY, or all that the options select.

    Each gets one more attempt; earlier attempts still count. The next `detent run` processes them, or a running
    `detent work` does at once. The exit status is 1 if an item given by KEY has not failed.

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
    return _tell(session, moved, words, "only failed items can be retried; `detent reset` restarts any item", json_)


@click.command(cls=Command, short_help="Reset items to the start of their lifecycle.")
@_chosen("All items.")
@click.option("--yes", is_flag=True, help="Do not ask. Required in scripts and under cron.")
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
    """Reset items in any state to the start of their lifecycle: those given by KEY, or all that the options
    select.

    They are processed from scratch, and their attempts are reset; their output stays until it is replaced. A
    worker that holds such an item loses its lease, and its result is rejected.

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
        confirm(f"Reset {counted(found.count, 'item')} to the start of the lifecycle?", yes)
        return await db.reset(**chosen)

    words = ("Reset", "Would reset", "There are no such items.")
    return _tell(session, session.with_db(restarted), words, "it cannot be reset", json_)


@click.command(cls=Command, short_help="Skip waiting or failed items.")
@_chosen("All items that can be skipped.")
@with_session
@as_json(_FIELDS)
def skip(
    session: Session, *, keys: Sequence[str], everything: bool, dry_run: bool, json_: bool, **narrowed: Any
) -> int:
    """Skip waiting or failed items: those given by KEY, or all that the options select. They are not processed
    until they change, or are reset.

    The lifecycle must allow it: `detent lifecycles NAME` shows the moves. The exit status is 1 if an item given by
    KEY cannot be skipped.

    \b
    Examples:
      detent skip big.csv
      detent skip --source docs --state error --dry-run
    """
    require_choice(keys, narrowed, everything)

    async def skipped(db: AsyncDetent) -> Moved:
        return await db.skip(**await _choice(db, keys, everything, narrowed), dry_run=dry_run)

    words = ("Skipped", "Would skip", "No such items can be skipped.")
    return _tell(
        session, session.with_db(skipped), words, "its lifecycle does not allow skipping from this state", json_
    )


async def _choice(db: AsyncDetent, keys: Sequence[str], everything: bool, narrowed: dict[str, Any]) -> dict[str, Any]:
    """The selection as arguments of the verbs. With keys, --source and --label resolve ambiguous ones."""
    if not keys:
        return {**narrowed, "everything": everything}
    return {"ids": [await db.find_one(key, source=narrowed["source"], label=narrowed["label"]) for key in keys]}


def _tell(session: Session, moved: Moved, words: tuple[str, str, str], why_not: str, json_: bool) -> int:
    """Report the moved items and the refused ones with the reason; return the exit status."""
    done, would, nothing = words
    if json_:
        document(moved.as_data())
    elif moved.count:
        session.say(f"{would if moved.dry_run else done} {counted(moved.count, 'item')}.")
    elif not moved.refused:
        session.say(nothing)
    for item in () if json_ else moved.refused:
        session.err.print(f"{item.key} was left in the state {item.state}: {why_not}.", soft_wrap=True)
    return 1 if moved.refused else 0
