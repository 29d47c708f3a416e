"""`detent items`: lists of items, a page at a time."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, filters, with_session
from detent.cli.output import ago, document, moment
from detent.cli.selection import Selection
from detent.cli.session import Session

if TYPE_CHECKING:
    from rich.table import Table

    from detent.application.connecting import Connected
    from detent.store import Listed, Page

_LIMIT = 50
_LONGEST_REASON = 200


@click.command(cls=Command, short_help="List items, with the reasons of those that failed.")
@filters
@click.option("--state", help="Only items in this state; `detent lifecycles` shows which there are.")
@click.option("--error-kind", help="Only items with this kind of error, such as timeout or not_found.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=_LIMIT, show_default=True, help="How many items.")
@click.option("--after", metavar="MARK", help="Begin after this mark, which the page before ended with.")
@with_session
@as_json("""
    items       a list of: id, source, label, key, state, since, attempt, priority, content_hash, added_at,
    not_before, error_kind, trouble, error
    next        the mark for --after that gives the next page, or null on the last one
""")
def items(
    session: Session,
    *,
    source: str | None,
    label: str | None,
    state: str | None,
    error_kind: str | None,
    limit: int,
    after: str | None,
    json_: bool,
) -> None:
    """List items, with the reason of those that failed. Below a full page stands the command for the next one.

    Items come in the order of their keys; with --state in the order in which they are worked on.

    \b
    Examples:
      detent items --state error
      detent items --source wiki --label Article --limit 200
      detent items --error-kind not_found --json
    """
    selection = Selection(source, label, state, error_kind)

    async def listed(opened: Connected) -> None:
        await selection.kinds(opened.store)
        page = await opened.store.list(
            source=source, label=label, state=state, error_kind=error_kind, limit=limit, after=after
        )
        if json_:
            document({"items": [vars(item) for item in page.items], "next": page.next})
            return
        if not page.items:
            session.say(
                "No more items." if after else "There are no such items." if selection.narrows else "No items yet."
            )
            return
        session.out.print(_table(page))
        if page.next is not None:
            session.err.print(f"\nNext page: {_command(session, selection, limit, page.next)}", soft_wrap=True)

    session.with_store(listed)


def _table(page: Page) -> Table:
    from detent.cli.drawing import plain, table

    shown = table("Source", "Label", "Key", "State", "Since", "Reason", wide=["Key", "Reason"])
    for item in page.items:
        names = (plain(item.source), plain(item.label), plain(item.key))
        shown.add_row(*names, item.state, ago(item.since), plain(_reason(item)))
    return shown


def _reason(item: Listed) -> str:
    """Why an item failed, or last failed, and what becomes of it."""
    if item.held_back:
        return "held back until there is room for it"
    if item.error_kind is None:
        return ""
    reason = f"{item.error_kind}: {item.error}"
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[: _LONGEST_REASON - 2].rstrip()} …"
    if item.not_before:
        return f"{reason} (attempt {item.attempt}; again after {moment(item.not_before)})"
    return reason if reason.endswith("attempts failed)") else f"{reason} (attempt {item.attempt})"


def _command(session: Session, selection: Selection, limit: int, mark: str) -> str:
    """The command for the next page, with what this one was told; but for passwords."""
    from detent.configuration.masking import masked

    options = {
        "--project": session.project,
        "--database": masked(session.database) if session.database else None,
        "--source": selection.source,
        "--label": selection.label,
        "--state": selection.state,
        "--error-kind": selection.error_kind,
        "--limit": limit if limit != _LIMIT else None,
        "--after": mark,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return shlex.join(["detent", "items", *words])
