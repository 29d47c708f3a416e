"""`detent graph`: the neighbours of a node, paths between nodes, and subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from detent.cli import exchange
from detent.cli.options import Group, as_json, filters, with_session
from detent.cli.output import counted, document
from detent.cli.selection import command_line
from detent.cli.session import Session

if TYPE_CHECKING:
    from rich.table import Table

    from detent.application import AsyncDetent
    from detent.application.values import Direction, Edge, GraphPath, NamedNode, Neighbours, Subgraph

F = TypeVar("F", bound=Callable[..., Any])

_LIMIT = 50
_LONGEST_TITLE = 80


@click.group("graph", cls=Group, short_help="Explore, export and import the graph.")
def graph() -> None:
    """Explore the graph: neighbours, paths and subgraphs; its digest; export and import.

    KEY is the key of a node, or an alias of it. If several nodes have the same key, select one with --source and
    --label.
    """


for command in (exchange.digest, exchange.export, exchange.import_):
    graph.add_command(command)


def _narrowed(command: F) -> F:
    """The options that choose edges and nodes."""
    options = (
        click.option("--type", "types", multiple=True, metavar="TYPE", help="Only edges of this type. Repeatable."),
        click.option("--only-label", "labels", multiple=True, metavar="LABEL", help="Only nodes with this label."),
        click.option("--only-source", "sources", multiple=True, metavar="SOURCE", help="Only nodes of this source."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _directed(default: str) -> Callable[[F], F]:
    return click.option(
        "--direction",
        type=click.Choice(["out", "in", "both"]),
        default=default,
        show_default=True,
        help="Follow edges along their direction, against it, or both.",
    )


@graph.command("neighbours", short_help="List the neighbours of a node.")
@click.argument("key")
@filters
@_directed("both")
@_narrowed
@click.option("--limit", type=click.IntRange(1, 10_000), default=_LIMIT, show_default=True, help="Number of edges.")
@click.option("--after", metavar="MARK", help="Begin after this mark, which the page before ended with.")
@with_session
@as_json("""
    node        id, source, label, key, title
    neighbours  a list of: direction (out: the edge leads there; in: it comes from there), type, properties,
    node (id, source, label, key, title)
    next        the mark for --after that gives the next page, or null on the last one
""")
def neighbours(
    session: Session,
    *,
    key: str,
    source: str | None,
    label: str | None,
    direction: Direction,
    types: Sequence[str],
    labels: Sequence[str],
    sources: Sequence[str],
    limit: int,
    after: str | None,
    json_: bool,
) -> None:
    """List the neighbours of the node KEY: those that its edges lead to, then those whose edges lead to it.
    A full page ends with the command for the next one.

    \b
    Examples:
      detent graph neighbours "Alan Turing"
      detent graph neighbours README.md --direction in --type LINKS_TO
      detent graph neighbours README.md --only-label Section --json
    """

    async def listed(db: AsyncDetent) -> tuple[NamedNode | None, Neighbours]:
        start = await db.graph.find_one(key, source=source, label=label)
        chosen = _filters(types, labels, sources)
        page = await db.graph.neighbours(start, direction=direction, limit=limit, after=after, **chosen)
        return (await db.graph.node(start)).node if json_ else None, page

    node, page = session.with_db(listed)
    if node is not None:
        document({"node": node.as_data(), **page.as_data()})
        return
    if not page.neighbours:
        session.say("No more edges." if after else "There are no such edges.")
        return
    session.out.print(_table(session, page))
    if page.next is not None:
        options = {
            "--source": source,
            "--label": label,
            "--direction": direction if direction != "both" else None,
            "--type": types,
            "--only-label": labels,
            "--only-source": sources,
            "--limit": limit if limit != _LIMIT else None,
            "--after": page.next,
        }
        command = command_line(session, ["graph", "neighbours", key], options)
        session.err.print(f"\nNext page: {command}", soft_wrap=True)


@graph.command("path", short_help="Show a shortest path between two nodes.")
@click.argument("start", metavar="FROM")
@click.argument("goal", metavar="TO")
@filters
@_directed("out")
@_narrowed
@click.option(
    "--max-length", type=click.IntRange(1, 100), default=10, show_default=True, help="Maximum number of edges."
)
@with_session
@as_json("""
    nodes       the nodes of the path, from FROM to TO: id, source, label, key, title; empty if there is no path
    edges       the edge of each step: from_id, type, to_id, properties
    complete    false if the search stopped at its limit of nodes
""")
def path(
    session: Session,
    *,
    start: str,
    goal: str,
    source: str | None,
    label: str | None,
    direction: Direction,
    types: Sequence[str],
    labels: Sequence[str],
    sources: Sequence[str],
    max_length: int,
    json_: bool,
) -> int:
    """Show a shortest path between the nodes FROM and TO. Exit status 1 if there is none.

    --only-label and --only-source restrict the nodes between the two.

    \b
    Examples:
      detent graph path "Alan Turing" "Enigma machine"
      detent graph path README.md "Alan Turing" --direction both
    """

    async def found(db: AsyncDetent) -> GraphPath:
        ends = [await db.graph.find_one(key, source=source, label=label) for key in (start, goal)]
        chosen = _filters(types, labels, sources)
        return await db.graph.path(ends[0], ends[1], direction=direction, max_length=max_length, **chosen)

    way = session.with_db(found)
    if json_:
        document(way.as_data())
    elif way.nodes:
        _show_path(session, way)
    else:
        session.say(_nowhere(way, start, goal, direction, max_length))
    return 0 if way.nodes else 1


@graph.command("around", short_help="Show the nodes around one, with the edges among them.")
@click.argument("key")
@filters
@_directed("both")
@_narrowed
@click.option("--depth", type=click.IntRange(1, 100), default=1, show_default=True, help="Maximum distance in edges.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=_LIMIT, show_default=True, help="Number of nodes.")
@with_session
@as_json("""
    nodes       nearest first, beginning with KEY itself: id, source, label, key, title
    edges       those among these nodes: from_id, type, to_id, properties
    complete    false if there are more than the limit allows
""")
def around(
    session: Session,
    *,
    key: str,
    source: str | None,
    label: str | None,
    direction: Direction,
    types: Sequence[str],
    labels: Sequence[str],
    sources: Sequence[str],
    depth: int,
    limit: int,
    json_: bool,
) -> None:
    """Show the nodes around the node KEY, nearest first, and the edges among them.

    \b
    Examples:
      detent graph around "Alan Turing" --depth 2
      detent graph around README.md --only-label Section --limit 200 --json
    """

    async def seen(db: AsyncDetent) -> Subgraph:
        start = await db.graph.find_one(key, source=source, label=label)
        chosen = _filters(types, labels, sources)
        return await db.graph.subgraph(start, depth=depth, limit=limit, direction=direction, **chosen)

    part = session.with_db(seen)
    if json_:
        document(part.as_data())
    else:
        _show_subgraph(session, part)


def _filters(types: Sequence[str], labels: Sequence[str], sources: Sequence[str]) -> dict[str, Any]:
    return {"types": types or None, "labels": labels or None, "sources": sources or None}


def _table(session: Session, page: Neighbours) -> Table:
    from detent.cli.drawing import plain, table

    shown = table("", "Type", "Source", "Label", "Key", "Title", wide=["Key", "Title"])
    out, into = ("->", "<-") if session.out.options.ascii_only else ("→", "←")
    for each in page.neighbours:
        node = each.node
        names = (plain(each.type), plain(node.source), plain(node.label), plain(node.key))
        shown.add_row(out if each.direction == "out" else into, *names, plain(node.title[:_LONGEST_TITLE]))
    return shown


def _show_path(session: Session, way: GraphPath) -> None:
    from detent.cli.drawing import plain

    out, into = ("->", "<-") if session.out.options.ascii_only else ("→", "←")
    session.out.print(plain(_named(way.nodes[0])), soft_wrap=True)
    for edge, node, before in zip(way.edges, way.nodes[1:], way.nodes, strict=False):
        arrow = out if edge.from_id == before.id else into
        session.out.print(plain(f"  {arrow} {edge.type}  {_named(node)}"), soft_wrap=True)


def _nowhere(way: GraphPath, start: str, goal: str, direction: str, max_length: int) -> str:
    if not way.complete:
        return (
            f"No path from {start!r} to {goal!r} was found within the limit of nodes. "
            "Narrow the search with --type, --only-label or --only-source."
        )
    hint = " --direction both also follows edges backwards." if direction != "both" else ""
    return f"There is no path from {start!r} to {goal!r} of at most {counted(max_length, 'edge')}.{hint}"


def _show_subgraph(session: Session, part: Subgraph) -> None:
    from detent.cli.drawing import plain, table

    shown = table("Source", "Label", "Key", "Title", wide=["Key", "Title"])
    for node in part.nodes:
        shown.add_row(plain(node.source), plain(node.label), plain(node.key), plain(node.title[:_LONGEST_TITLE]))
    session.out.print(shown)
    names = {node.id: _named(node) for node in part.nodes}
    if part.edges:
        session.out.print()
    for edge in part.edges:
        session.out.print(plain(_edge(edge, names, session.out.options.ascii_only)), soft_wrap=True)
    if not part.complete:
        session.err.print("\nThere are more nodes; raise --limit to show them.", soft_wrap=True)


def _edge(edge: Edge, names: dict[int, str], ascii_only: bool) -> str:
    return f"{names[edge.from_id]}  {edge.type} {'->' if ascii_only else '→'}  {names[edge.to_id]}"


def _named(node: NamedNode) -> str:
    return f"{node.source}/{node.label}/{node.key}"
