"""`detent migrate-flags`: nodes with boolean flags, from an export of Neo4j, become items that have a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import counted, document, number
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.migrating import Migrated

_SHOWN = 20
"""Maximum number of problems that are printed."""


@click.command("migrate-flags", cls=Command, short_help="Import nodes with flags from a Neo4j export.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", metavar="NAME", help="The source of the nodes. Default: their projectId, or else `nodes`.")
@click.option("--label", help="Only nodes with this label; nodes without a label get it.")
@with_session
@as_json("""
    nodes       number of migrated nodes
    known       number of nodes that existed already, and are unchanged
    references  number of relationships that became references
    states      a list of: source, label, state, count
    problems    a list of: line, reason
""")
def migrate_flags(session: Session, file: Path, source: str | None, label: str | None, json_: bool) -> int:
    """Import the nodes of FILE, whose flags mark the work left to do. They get the lifecycle `node`, and
    their state is

    \b
    pending  where schemaDirty is true
    ready    else, where there is embedding_content
    linked   else, where embeddingsDirty is true
    pending  otherwise

    FILE is what `apoc.export.json.all` writes, or has one JSON object per line: uuid, labels or label, and further
    properties. It may be compressed with gzip. A node's key is its uuid, or else its path or id. Relationships become
    references. Flags and vectors are dropped, so nodes in `ready` are found by their words only.

    Existing nodes are unchanged: run it again after an interruption. A line that cannot be migrated is reported,
    and the others are still migrated; the exit status is 1 then.

    \b
    Examples:
      detent migrate-flags all.json
      detent migrate-flags scopes.jsonl --source brain --label Scope
    """

    async def migrated(db: AsyncDetent) -> Migrated:
        from detent.cli.counting import Counting

        with Counting(session.err, "Migrating", "nodes") as counting:
            return await db.graph.migrate_flags(file, source=source, label=label, tell=counting.tell)

    found = session.with_db(migrated)
    if json_:
        document(found.as_data())
    else:
        _tell(session, found)
    return 1 if found.problems else 0


def _tell(session: Session, found: Migrated) -> None:
    for source, label in sorted({name[:2] for name in found.states}):
        states = ", ".join(f"{number(count)} {state}" for state, count in _states(found, source, label).items())
        session.say(f"{source}/{label}: {states}")
    known = f" {number(found.known)} more existed already." if found.known else ""
    references = counted(found.references, "relationship")
    session.say(f"{counted(found.states.total(), 'node')} and {references} migrated.{known}")
    for problem in found.problems[:_SHOWN]:
        session.err.print(str(problem), soft_wrap=True, markup=False, highlight=False)
    if len(found.problems) > _SHOWN:
        session.err.print(f"{counted(len(found.problems) - _SHOWN, 'more line')} could not be migrated.")


def _states(found: Migrated, source: str, label: str) -> dict[str, int]:
    from detent.lifecycle import NODE

    return {state: count for state in NODE.states if (count := found.states[source, label, state])}
