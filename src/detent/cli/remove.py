"""`detent remove`: a source goes, with all it brought."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, with_session
from detent.cli.output import counted
from detent.cli.reset import confirm
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application.connecting import Connected
    from detent.store import Store


@click.command(cls=Command, short_help="Remove a source with all it brought.")
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where nobody can answer: in scripts, under cron.")
@with_session
def remove(session: Session, source: str, yes: bool) -> None:
    """Remove SOURCE with all it brought: its items, nodes and links, and what is searched of them. Moves that its
    items made stay in the journal.

    From its beginning nothing of the source is worked on; a worker that has one of its items loses it. It is done in
    steps. After an interruption, the same command goes on.

    \b
    Examples:
      detent remove wiki
      detent remove wiki --yes
    """
    removing = _Removing(session, source, yes)
    try:
        session.with_store(removing.run)
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

    async def run(self, opened: Connected) -> None:
        from contextlib import aclosing

        from detent.application.removing import remove_source
        from detent.cli.counting import Counting

        total = await _count(opened.store, self._source)
        confirm(f"Remove the source {self._source!r} with {counted(total, 'item')} for ever?", self._yes)
        self._begun = True
        with Counting(self._session.err, "Removing", "items") as counting:
            async with aclosing(remove_source(opened.store, self._source)) as steps:
                async for self._gone in steps:
                    counting.tell(self._gone, max(total, self._gone))
        self._session.say(f"The source {self._source!r} is removed, with {counted(self._gone, 'item')}.")

    def _again(self) -> str:
        """The command that goes on, with what this one was told; but for passwords."""
        from detent.configuration.masking import masked

        database = self._session.database
        told = {"--project": self._session.project, "--database": masked(database) if database else None}
        words = [word for name, value in told.items() if value is not None for word in (name, str(value))]
        return shlex.join(["detent", "remove", self._source, *words])

    def tell_how_to_go_on(self) -> None:
        if self._begun:
            self._session.err.print(
                f"{counted(self._gone, 'item')} removed so far, and nothing of the source is worked on any more. "
                f"To remove the rest: {self._again()}",
                soft_wrap=True,
            )


async def _count(store: Store, source: str) -> int:
    """How many items a source has; a name that none has is a mistake."""
    from detent.store.ledger.kinds import unknown

    names = [origin.name for origin in await store.sources.all()]
    if source not in names:
        raise unknown("source", source, names)
    return sum(line.count for line in await store.count_by_state() if line.source == source)
