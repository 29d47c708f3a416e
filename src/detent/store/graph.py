"""Writing the graph: nodes, references, children, mentions, aliases, new items and checkpoints, which an outcome
carries beside the item's new state. It is all written in the transaction that settles the item.

Children are compared with what is there: those that are as they were are left alone, changed ones are worked on
again, and those that are not named any more go, with all that belongs to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from detent.errors import KindGone
from detent.knowledge import Child, Done, Item, Mention, NewItem, Node, Passage, Reference
from detent.store.aliases import write_aliases
from detent.store.database import Connection, fetch
from detent.store.embeddings import STAGE, Embeddings
from detent.store.family import ChangedHands, Family, hold, hold_new
from detent.store.items import add, birth_state, tell_changed
from detent.store.kinds import Kind, Kinds, hold_kinds
from detent.store.removal import MENTIONS_LOCK, remove_held

Produced = Sequence[tuple[Item, Done]]

BY_PARENT = "its parent"


class Line(NamedTuple):
    """A row of `node`."""

    item_id: int
    node: Node
    content_hash: str | None
    parent_id: int | None = None
    position: int | None = None
    edge: str | None = None


class Offspring(NamedTuple):
    """A child, the item it comes with, its place among its siblings, and its kind."""

    parent: Item
    position: int
    kind: Kind
    child: Child

    @property
    def name(self) -> tuple[int, str]:
        return self.kind.id, self.child.key


@dataclass
class Plan:
    """What is to be written of one batch."""

    nodes: list[Line] = field(default_factory=list)
    links: list[tuple[Item, int, Sequence[Reference]]] = field(default_factory=list)
    """An item, or the parent of one; the number whose links they are; the links."""
    moved: list[Line] = field(default_factory=list)
    changed: dict[int, str] = field(default_factory=dict)
    noted: dict[int, str] = field(default_factory=dict)
    """What is another one, but has the text that it was embedded with, so that there is nothing to do for it."""
    gone: list[Any] = field(default_factory=list)


class Graph:
    """Writes what outcomes carry, in the transaction that settles them."""

    def __init__(self, kinds: Kinds, embeddings: Embeddings) -> None:
        self._kinds = kinds
        self._embeddings = embeddings

    @staticmethod
    def names_kinds(done: Done) -> bool:
        return bool(done.references or done.found or done.children or done.mentions)

    async def check(self, item: Item, done: Done) -> None:
        """Raise if the outcome names a kind of item that nobody has declared, or a state it cannot be born in."""
        for child in done.children or ():
            await self._kinds.get(item.source, child.label)
        for target in _targets(done):
            await self._kind(item, target)
        for new in done.found:
            birth_state(await self._kind(item, new), new)

    async def hold(self, connection: Connection, produced: Produced, tokens: Sequence[int]) -> Family:
        """Hold what belongs to items, before they are settled, all under these tokens, and anything is written.

        An item keeps its own source from being dropped, but not the others that its outcome names. KindGone: one was.
        """
        foreign = {kind.id: kind for kind in await self._foreign(produced)}
        if gone := await hold_kinds(connection, list(foreign)):
            raise KindGone(foreign[gone[0]])
        if any(done.mentions for _, done in produced):
            await fetch(connection, "lock_mentions", {"lock": MENTIONS_LOCK})
        parents = [item for item, done in produced if done.children is not None or done.alias_of is not None]
        if not parents:
            return Family()
        return await hold(connection, parents, [each.name for each in await self._offspring(produced)], tokens)

    async def write(self, connection: Connection, produced: Produced, family: Family) -> None:
        offspring = await self._offspring(produced)
        await self._add(connection, produced, offspring)
        await hold_new(connection, family, [each.name for each in offspring])
        plan = self._plan(produced, offspring, family)
        await remove_held(connection, self._kinds, plan.gone)
        await self._tell_changed(connection, plan, family)
        await self._write_nodes(connection, plan)
        aliases = [item.id for item, done in produced if done.alias_of is not None]
        if aliases:
            await fetch(connection, "drop_nodes", {"ids": aliases})
            await fetch(connection, "forget_embeddings", {"ids": aliases})
        await self._write_mentions(connection, produced)
        await self._write_links(connection, plan.links)
        await _write_checkpoints(connection, produced)
        await self._embeddings.write(connection, [(i.id, done.embedding) for i, done in produced if done.embedding])
        await write_aliases(connection, await self._with_kinds(produced), [each.name for each in offspring])

    async def _foreign(self, produced: Produced) -> list[Kind]:
        """The kinds of other sources that outcomes name."""
        return [
            await self._kind(item, target)
            for item, done in produced
            for target in _targets(done)
            if target.source not in (None, item.source)
        ]

    async def _offspring(self, produced: Produced) -> list[Offspring]:
        return [
            Offspring(item, position, await self._kinds.get(item.source, child.label), child)
            for item, done in produced
            for position, child in enumerate(done.children or ())
        ]

    async def _add(self, connection: Connection, produced: Produced, offspring: Sequence[Offspring]) -> None:
        """Add everything that is new at once, so that two that add the same never wait for each other."""
        born = [
            (each.kind, NewItem(each.child.key, each.child.label, content_hash=each.child.fingerprint))
            for each in offspring
        ]
        mentioned = [
            (await self._kind(item, mention), NewItem(mention.key, mention.label))
            for item, done in produced
            for mention in done.mentions
        ]
        found = [(await self._kind(item, new), new) for item, done in produced for new in done.found]
        if born or mentioned or found:
            await add(connection, [*born, *mentioned, *found])

    def _plan(self, produced: Produced, offspring: Sequence[Offspring], family: Family) -> Plan:
        plan = Plan()
        for item, done in produced:
            if done.node is not None:
                plan.nodes.append(Line(item.id, done.node, done.node.content_hash))
            if done.references is not None or done.alias_of is not None:
                plan.links.append((item, item.id, done.references or ()))
        kept = {each.name for each in offspring}
        for each in {each.name: each for each in offspring}.values():
            _plan_child(plan, each, family)
        parents = [item for item, done in produced if done.children is not None or done.alias_of is not None]
        vanished = [row for item in parents for row in family.of(item.id) if (row.kind_id, row.key) not in kept]
        plan.gone = [row for row in family.with_descendants(vanished) if (row.kind_id, row.key) not in kept]
        return plan

    async def _tell_changed(self, connection: Connection, plan: Plan, family: Family) -> None:
        if plan.noted:
            await fetch(connection, "note_hash", {"ids": list(plan.noted), "hashes": list(plan.noted.values())})
        rows = [row for row in family.all() if row.id in plan.changed]
        for number in sorted({row.kind_id for row in rows}):
            kind = await self._kinds.by_id(number, connection)
            of_kind = [row for row in rows if row.kind_id == number]
            await tell_changed(connection, kind.lifecycle, of_kind, plan.changed, BY_PARENT)

    async def _write_nodes(self, connection: Connection, plan: Plan) -> None:
        if plan.nodes and await fetch(connection, "write_nodes", _columns(plan.nodes)):
            raise ChangedHands
        if plan.moved:
            columns = _columns(plan.moved)
            await fetch(
                connection, "place_children", {name: columns[name] for name in ("ids", "parents", "positions", "edges")}
            )

    async def _write_mentions(self, connection: Connection, produced: Produced) -> None:
        named: dict[tuple[int, str], Mention] = {}
        for item, done in produced:
            for mention in done.mentions:
                named.setdefault(((await self._kind(item, mention)).id, mention.key), mention)
        if named:
            asked = {"kinds": [kind for kind, _ in named], "keys": [key for _, key in named]}
            found = await fetch(connection, "find", asked)
            lines = [Line(row.id, node := named[row.kind_id, row.key].node, node.content_hash) for row in found]
            wanted = ("ids", "titles", "texts", "properties", "hashes")
            columns = _columns(lines)
            await fetch(connection, "write_mentions", {name: columns[name] for name in wanted})

    async def _write_links(
        self, connection: Connection, links: Sequence[tuple[Item, int, Sequence[Reference]]]
    ) -> None:
        if links:
            await fetch(connection, "drop_references", {"ids": [number for _, number, _ in links]})
        lines = [
            (item, number, position, reference)
            for item, number, references in links
            for position, reference in enumerate(references)
        ]
        if not lines:
            return
        parameters = {
            "ids": [number for _, number, _, _ in lines],
            "positions": [position for _, _, position, _ in lines],
            "types": [reference.type for *_, reference in lines],
            "kinds": [(await self._kind(item, reference)).id for item, _, _, reference in lines],
            "keys": [reference.key for *_, reference in lines],
            "properties": [Jsonb(dict(reference.properties)) for *_, reference in lines],
        }
        await fetch(connection, "write_references", parameters)

    async def _with_kinds(self, produced: Produced) -> list[tuple[Item, int, Done]]:
        return [(item, (await self._kinds.get(item.source, item.label)).id, done) for item, done in produced]

    async def _kind(self, item: Item, target: NewItem | Reference | Mention) -> Kind:
        return await self._kinds.get(target.source or item.source, target.label)


def _targets(done: Done) -> Iterator[NewItem | Reference | Mention]:
    """What an outcome names that may be of another source."""
    yield from done.references or ()
    for child in done.children or ():
        yield from child.references
    yield from done.mentions
    yield from done.found


def _plan_child(plan: Plan, each: Offspring, family: Family) -> None:
    """Leave it alone if it is as it was; else it is written, and worked on again."""
    row = family.named(*each.name)
    assert row is not None  # noqa: S101  it was added, or there before, and held
    fingerprint = each.child.fingerprint
    line = Line(row.id, each.child.node, fingerprint, each.parent.id, each.position, each.child.edge)
    if row.written and row.content_hash == fingerprint:
        if (row.parent_id, row.position, row.edge, row.shared) != (*line[3:], False):
            plan.moved.append(line)
        return
    plan.nodes.append(line)
    plan.links.append((each.parent, row.id, each.child.references))
    if row.content_hash != fingerprint:
        (plan.noted if _is_embedded(each, row) else plan.changed)[row.id] = fingerprint


def _is_embedded(each: Offspring, row: Any) -> bool:
    """Whether embedding is all that is done for such a child, and was done for this very text."""
    lifecycle, node = each.kind.lifecycle, each.child.node
    at_rest = row.state not in lifecycle.working | lifecycle.waiting | lifecycle.failures
    return at_rest and lifecycle.working == {STAGE} and row.embedded == Passage.of(node.title, node.text).hash


def _columns(lines: Sequence[Line]) -> dict[str, list[Any]]:
    return {
        "ids": [line.item_id for line in lines],
        "parents": [line.parent_id for line in lines],
        "positions": [line.position for line in lines],
        "edges": [line.edge for line in lines],
        "titles": [line.node.title for line in lines],
        "texts": [line.node.text for line in lines],
        "properties": [Jsonb(dict(line.node.properties)) for line in lines],
        "hashes": [line.content_hash for line in lines],
    }


async def _write_checkpoints(connection: Connection, produced: Produced) -> None:
    checkpoints = [(item, done.checkpoint) for item, done in produced if done.checkpoint is not None]
    if checkpoints:
        parameters = {
            "ids": [item.id for item, _ in checkpoints],
            "data": [Jsonb(dict(data)) for _, data in checkpoints],
        }
        await fetch(connection, "write_checkpoints", parameters)
