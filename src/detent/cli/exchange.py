"""`detent graph digest`, `export` and `import`: the graph as a whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from detent.cli.options import Command, as_json, with_session
from detent.cli.output import counted, document
from detent.cli.session import Session

if TYPE_CHECKING:
    from detent.application import AsyncDetent
    from detent.application.values import Loaded

_FORMATS = ("jsonl", "graphml", "parquet")


@click.command("digest", cls=Command, short_help="Show a digest of the graph's content.")
@click.option("--source", help="Only the content of this source; its name does not count.")
@with_session
@as_json("""
    digest      64 hexadecimal digits
    nodes, edges, references, aliases   their numbers
""")
def digest(session: Session, source: str | None, json_: bool) -> None:
    """Show a digest of the graph: equal for equal content, in whatever order it was written.

    It covers titles, texts, properties, hashes, references, aliases and parents, but no states or times.

    \b
    Examples:
      detent graph digest
      detent graph digest --source wiki --json
    """

    found = session.with_db(lambda db: db.graph.digest(source))
    if json_:
        document(found.as_data())
        return
    counts = [counted(found.nodes, "node"), counted(found.edges, "edge"), counted(found.references, "reference")]
    session.say(found.digest)
    session.say(f"{', '.join(counts)}, {_aliases(found.aliases)}")


@click.command("export", cls=Command, short_help="Write the graph into a file.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Default: the ending of FILE, or jsonl if it has none."
)
@click.option("--source", help="Only the content of this source.")
@with_session
def export(session: Session, file: Path, form: str | None, source: str | None) -> None:
    """Write a consistent snapshot of the graph into FILE; `-` writes it to the output.

    \b
    jsonl    everything, for `detent graph import`: items with their states, nodes, references, aliases
    graphml  nodes and edges, for Gephi, yEd or NetworkX
    parquet  FILE is a folder, with nodes.parquet and edges.parquet in it; needs the extra detent[parquet]

    The export is written to FILE.part, and renamed to FILE once it is complete.

    \b
    Examples:
      detent graph export graph.jsonl
      detent graph export wiki.graphml --source wiki
      detent graph export - | gzip > graph.jsonl.gz
    """
    from detent.application.exporting import format_of

    target = None if str(file) == "-" else file
    chosen = format_of(target, form)
    if target is None and chosen == "parquet":
        raise click.UsageError("Parquet is a folder with two files; give a folder instead of `-`.")

    async def written(db: AsyncDetent) -> int:
        from detent.cli.counting import Counting

        with Counting(session.err, "Exporting", "records") as counting:
            return await db.graph.export(target or sys.stdout.buffer, chosen, source=source, tell=counting.tell)

    count = session.with_db(written)
    if target is not None:
        session.say(f"{counted(count, 'record')} written into {target}.")


@click.command("import", cls=Command, short_help="Import a graph that was exported as JSONL.")
@click.argument("file", type=click.Path(path_type=Path))
@with_session
@as_json("""
    items, nodes, references, aliases   numbers of imported ones
""")
def import_(session: Session, file: Path, json_: bool) -> None:
    """Import FILE, which `detent graph export` wrote as JSONL; it may be compressed with gzip. Content under the same
    keys is replaced; everything else stays.

    It is done in steps. After an interruption, import the file again: the result is the same.

    \b
    Examples:
      detent graph import graph.jsonl
      detent graph import graph.jsonl.gz
    """

    async def read(db: AsyncDetent) -> Loaded:
        from detent.cli.counting import Counting

        with Counting(session.err, "Importing", "items") as counting:
            return await db.graph.import_file(file, tell=counting.tell)

    loaded = session.with_db(read)
    if json_:
        document(loaded.as_data())
        return
    parts = [counted(loaded.items, "item"), counted(loaded.nodes, "node"), counted(loaded.references, "reference")]
    session.say(f"Imported {', '.join(parts)}, {_aliases(loaded.aliases)}.")


def _aliases(count: int) -> str:
    return counted(count, "alias") if count == 1 else f"{count:,} aliases"
