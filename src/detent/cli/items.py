"""`detent items`: lists of items, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import ago, document, moment
from detent.cli.selection import command_line, item_filters, narrows, option_named
from detent.cli.session import Session

if TYPE_CHECKING:
    from rich.table import Table

    from detent.application.values import Listed, Page

_LIMIT = 50
_LONGEST_REASON = 200


@click.command(cls=Command, short_help="List items, with the reasons of failures.")
@item_filters
@click.option("--limit", type=click.IntRange(1, 10_000), default=_LIMIT, show_default=True, help="Number of items.")
@click.option("--after", metavar="MARK", help="Begin after this mark, which the page before ended with.")
@with_session
@as_json("""
    items       a list of: id, source, label, key, state, since, attempt, priority, content_hash, added_at,
    not_before, error_kind, trouble, error
    next        the mark for --after that gives the next page, or null on the last one
""")
def items(session: Session, *, limit: int, after: str | None, json_: bool, **narrowed: Any) -> None:
    """List items, with the reason of each failure. A full page ends with the command for the next one.

    Items are sorted by key; with --state, in the order in which they are processed.

    \b
    Examples:
      detent items --state error
      detent items --source wiki --label Article --limit 200
      detent items --error-kind not_found --json
      detent items --text timeout --since 2025-06-30
    """
    page = session.with_db(lambda db: db.items(**narrowed, limit=limit, after=after))
    if json_:
        document(page.as_data())
        return
    if not page.items:
        session.say("No more items." if after else "There are no such items." if narrows(narrowed) else "No items yet.")
        return
    session.out.print(_table(page))
    if page.next is not None:
        told = {option_named(name): value for name, value in narrowed.items()}
        more = {"--limit": limit if limit != _LIMIT else None, "--after": page.next}
        session.err.print(f"\nNext page: {command_line(session, ['items'], told | more)}", soft_wrap=True)


def _table(page: Page) -> Table:
    from detent.cli.drawing import plain, table

    shown = table("Source", "Label", "Key", "State", "Since", "Reason", wide=["Key", "Reason"])
    for item in page.items:
        names = (plain(item.source), plain(item.label), plain(item.key))
        shown.add_row(*names, item.state, ago(item.since), plain(_reason(item)))
    return shown


def _reason(item: Listed) -> str:
    """The reason of an item's last failure, and the time of its retry."""
    if item.held_back:
        return "held back: beyond the source's limit"
    if item.error_kind is None:
        return ""
    reason = f"{item.error_kind}: {item.error}"
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[: _LONGEST_REASON - 2].rstrip()} …"
    if item.not_before:
        return f"{reason} (attempt {item.attempt}; retry after {moment(item.not_before)})"
    return reason if reason.endswith("attempts failed)") else f"{reason} (attempt {item.attempt})"
