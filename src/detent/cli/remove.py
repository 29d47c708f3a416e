"""`detent remove`: remove a source and everything that came from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from detent.cli.confirming import confirm
from detent.cli.options import Command, with_session
from detent.cli.output import counted
from detent.cli.selection import command_line
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent


@click.command(cls=Command, short_help="Remove a source and everything that came from it.")
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask. Required in scripts and under cron.")
@with_session
def remove(session: Session, source: str, yes: bool) -> None:
    """Remove SOURCE and everything that came from it: its items, nodes and links, and their search index. The
    moves of its items stay in the journal.

    Its items are not processed from then on; a worker that holds one loses its lease. It is done in steps. After an
    interruption, the same command continues.

    \b
    Examples:
      detent remove wiki
      detent remove wiki --yes
    """
    removing = _Removing(session, source, yes)
    try:
        session.with_db(removing.run)
    except KeyboardInterrupt:
        removing.tell_how_to_go_on()
        raise


class _Removing:
    def __init__(self, session: Session, source: str, yes: bool) -> None:
        self._session = session
        self._source = source
        self._yes = yes
        self._begun = False
        self._gone = 0

    async def run(self, db: AsyncDetent) -> None:
        from detent.cli.counting import Counting

        total = (await db.show_source(self._source)).items
        confirm(f"Remove the source {self._source!r} with {counted(total, 'item')} permanently?", self._yes)
        self._begun = True
        with Counting(self._session.err, "Removing", "items") as counting:

            def tell(gone: int) -> None:
                self._gone = gone
                counting.tell(gone, max(total, gone))

            await db.remove_source(self._source, tell=tell)
        self._session.say(f"The source {self._source!r} is removed, with {counted(self._gone, 'item')}.")

    def tell_how_to_go_on(self) -> None:
        if self._begun:
            self._session.err.print(
                f"{counted(self._gone, 'item')} removed so far; the source is no longer processed. "
                f"To remove the rest: {command_line(self._session, ['remove', self._source], {})}",
                soft_wrap=True,
            )
