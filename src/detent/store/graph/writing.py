"""Writing the graph: nodes, references, children, mentions, aliases, new items and checkpoints, which an outcome
carries beside the item's new state.

All of it is written in the transaction that settles the item. Children are compared with the stored ones:
unchanged ones are left alone, changed ones are processed again, and those that are not named any more are removed,
with everything that belongs to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from detent.errors import KindGone
from detent.knowledge import Alias, Child, Item, Mention, NewItem, Node, Passage, Product, Reference
from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.graph.aliases import Claim, write_aliases
from detent.store.ledger.bounds import let_in_named, reserve_room
from detent.store.ledger.family import ChangedHands, Family, asked_by_name, hold, hold_new
from detent.store.ledger.items import add, birth_state, tell_changed
from detent.store.ledger.kinds import Kind, Kinds, hold_kinds
from detent.store.ledger.removal import MENTIONS_LOCK, remove_held
from detent.store.vectors.embeddings import STAGE, Embeddings

Produced = Sequence[tuple[Item, Product]]
Target = NewItem | Reference | Mention
New = Sequence[tuple[Kind, NewItem]]

BY_PARENT = "its parent"
SKIP = "skip"
"""State in which items without work rest, in lifecycles that let them begin there."""


class Line(NamedTuple):
    """A row of `node`."""

    item_id: int
    node: Node
    content_hash: str | None
    parent_id: int | None = None
    position: int | None = None
    edge: str | None = None


class Offspring(NamedTuple):
    """A child, its parent item, its position among its siblings, its kind, and its name: the kind's number and the
    key."""

    parent: Item
    position: int
    kind: Kind
    child: Child
    name: tuple[int, str]


@dataclass
class Plan:
    """The writes of one batch."""

    nodes: list[Line] = field(default_factory=list)
    links: list[tuple[Item, int, Sequence[Reference]]] = field(default_factory=list)
    """An item, or the parent of one; the number of the links' owner; the links."""
    moved: list[Line] = field(default_factory=list)
    changed: dict[int, str] = field(default_factory=dict)
    noted: dict[int, str] = field(default_factory=dict)
    """Changed items whose text is the one that was embedded before, so that there is nothing to do for them."""
    gone: list[Any] = field(default_factory=list)


class Graph:
    """Writes the data of outcomes, in the transaction that settles them."""

    def __init__(self, kinds: Kinds, embeddings: Embeddings) -> None:
        self._kinds = kinds
        self._embeddings = embeddings

    @staticmethod
    def names_kinds(done: Product) -> bool:
        return bool(done.references or done.found or done.children or done.mentions or done.aliases)

    async def check(self, item: Item, done: Product) -> None:
        """Raise if the outcome names a kind of item that is not declared, or an initial state that the kind does
        not allow."""
        for label in {child.label for child in done.children or ()} | {each.label for each in _aliases(done)}:
            await self._kinds.get(item.source, label)
        kinds = await self._kinds_of([(item, _targets(done))])
        for new in done.found:
            birth_state(kinds[_name(item, new)], new)

    async def hold(self, connection: Connection, produced: Produced, tokens: Sequence[int]) -> Family:
        """Lock everything that belongs to items under these tokens, before they are settled and anything is
        written.

        An item keeps its own source from being dropped, but not the other sources that its outcome names; KindGone
        means that one of those was dropped. Its own source is locked for its bounds, here and not when items are
        added: whoever sets bounds may want a place that is locked.
        """
        if produced:
            await fetch(connection, "hold_kinds_of", {"ids": arrays.integers(item.id for item, _ in produced)})
        foreign = {kind.id: kind for kind in await self._foreign(produced)}
        if gone := await hold_kinds(connection, list(foreign)):
            raise KindGone(foreign[gone[0]])
        if stood_for := await self._stood_for(produced):
            await reserve_room(connection, [kind.id for kind, _ in stood_for])
        if any(done.mentions for _, done in produced):
            await fetch(connection, "lock_mentions", {"lock": MENTIONS_LOCK})
        parents = [item for item, done in produced if done.children is not None or done.leaves]
        if not parents:
            return Family()
        return await hold(connection, parents, [each.name for each in await self._offspring(produced)], tokens)

    async def write(self, connection: Connection, produced: Produced, family: Family) -> None:
        offspring, shared = await self._offspring(produced), await self._shared(connection, produced)
        late = await self._add_children(connection, offspring, shared)
        await hold_new(connection, family, [each.name for each in offspring])
        plan = self._plan(produced, offspring, family)
        await remove_held(connection, self._kinds, plan.gone)
        await self._tell_changed(connection, plan, family)
        await self._write_nodes(connection, plan)
        if leaving := [item.id for item, done in produced if done.leaves]:
            await fetch(connection, "drop_nodes", {"ids": leaving})
            await fetch(connection, "forget_embeddings", {"ids": leaving})
        await self._write_links(connection, plan.links)
        await _write_checkpoints(connection, produced)
        await self._embeddings.write(connection, [(i.id, done.embedding) for i, done in produced if done.embedding])
        await add(connection, late)
        for kind, keys in await self._stood_for(produced):
            await let_in_named(connection, kind, keys)
        await self._write_mentions(connection, produced)
        await write_aliases(connection, await self._claims(produced), await self._real(produced, offspring))

    async def _stood_for(self, produced: Produced) -> list[tuple[Kind, list[str]]]:
        """Return the targets of items that are only other names, by kind. Where room is limited, a target takes
        the room that such an item leaves."""
        by_kind: dict[tuple[str, str], list[str]] = {}
        for item, done in produced:
            if done.alias_of is not None:
                by_kind.setdefault((item.source, item.label), []).append(done.alias_of)
        return [(await self._kinds.get(*name), keys) for name, keys in by_kind.items()]

    async def _foreign(self, produced: Produced) -> list[Kind]:
        """Return the kinds of other sources that outcomes name."""
        foreign = [
            (item, [target for target in _targets(done) if target.source not in (None, item.source)])
            for item, done in produced
        ]
        return list((await self._kinds_of(foreign)).values())

    async def _offspring(self, produced: Produced) -> list[Offspring]:
        return [
            _offspring(item, position, await self._kinds.get(item.source, child.label), child)
            for item, done in produced
            for position, child in enumerate(done.children or ())
        ]

    async def _add_children(self, connection: Connection, offspring: Sequence[Offspring], shared: New) -> New:
        """Add the children of items; return the shared additions that are left for later.

        Shared additions of the same kinds are added now, in one order with the children, so that two transactions
        that add the same never deadlock.
        """
        born = [
            (each.kind, _born(each.kind, each.child.key, each.child.node, each.child.fingerprint)) for each in offspring
        ]
        kinds = {kind.id for kind, _ in born}
        apart = kinds.isdisjoint(kind.id for kind, _ in shared)
        await add(connection, born if apart else [*born, *shared])
        return shared if apart else []

    async def _shared(self, connection: Connection, produced: Produced) -> New:
        """Return the additions that other transactions may make at the same moment. They are added late, because
        others wait for them until this transaction ends."""
        kinds = await self._kinds_of((item, done.mentions) for item, done in produced)
        mentioned = [
            (kind := kinds[_name(item, mention)], _born(kind, mention.key, mention.node))
            for item, done in produced
            for mention in done.mentions
        ]
        return [*mentioned, *await self._found(connection, produced)]

    async def _found(self, connection: Connection, produced: Produced) -> New:
        """Return the items found, limited by the breadths that are set now, whatever they were when the worker
        began."""
        kinds = await self._kinds_of((item, done.found) for item, done in produced)
        rows = await fetch(connection, "breadths", {"kinds": [kind.id for kind in kinds.values()]}) if kinds else []
        breadths = {row.id: row.breadth for row in rows}
        return [
            found
            for item, done in produced
            for found in _within(breadths, item, [(kinds[_name(item, new)], new) for new in done.found])
        ]

    def _plan(self, produced: Produced, offspring: Sequence[Offspring], family: Family) -> Plan:
        plan = Plan()
        for item, done in produced:
            if done.node is not None:
                plan.nodes.append(Line(item.id, done.node, done.node.content_hash))
            if done.references is not None or done.leaves:
                plan.links.append((item, item.id, done.references or ()))
        kept = {each.name for each in offspring}
        for each in {each.name: each for each in offspring}.values():
            _plan_child(plan, each, family)
        parents = [item for item, done in produced if done.children is not None or done.leaves]
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
        kinds = await self._kinds_of((item, done.mentions) for item, done in produced)
        named: dict[tuple[int, str], Mention] = {}
        for item, done in produced:
            for mention in done.mentions:
                named.setdefault((kinds[_name(item, mention)].id, mention.key), mention)
        if named:
            found = await fetch(connection, "find", asked_by_name(list(named)))
            lines = [Line(row.id, node := named[row.kind_id, row.key].node, node.content_hash) for row in found]
            wanted = ("ids", "titles", "texts", "properties", "hashes")
            columns = _columns(lines)
            await fetch(connection, "write_mentions", {name: columns[name] for name in wanted})

    async def _write_links(
        self, connection: Connection, links: Sequence[tuple[Item, int, Sequence[Reference]]]
    ) -> None:
        if links:
            await fetch(connection, "drop_references", {"ids": arrays.integers(number for _, number, _ in links)})
        written = [reference for *_, references in links for reference in references]
        if not written:
            return
        kinds = await self._kinds_of((item, references) for item, _, references in links)
        targets = (kinds[_name(item, each)].id for item, _, references in links for each in references)
        parameters = {
            "ids": arrays.integers(number for _, number, references in links for _ in references),
            "positions": arrays.integers(position for *_, references in links for position in range(len(references))),
            "types": arrays.texts([each.type for each in written]),
            "kinds": arrays.integers(targets),
            "keys": arrays.texts([each.key for each in written]),
            "properties": arrays.documents(each.properties for each in written),
        }
        await fetch(connection, "write_references", parameters)

    async def _claims(self, produced: Produced) -> dict[int, set[Claim]]:
        """Return the claims of items about keys, by the items' numbers; without outcomes that leave them unchanged."""
        return {
            item.id: {
                Claim((await self._kinds.get(item.source, each.label)).id, each.key, each.of)
                for each in {(each.label, each.key): each for each in _said(item, done)}.values()
                if each.key != each.of
            }
            for item, done in produced
            if done.aliases is not None or done.leaves
        }

    async def _real(self, produced: Produced, offspring: Sequence[Offspring]) -> list[tuple[int, str]]:
        """Return the kinds and keys that have content now."""
        own = [
            ((await self._kinds.get(item.source, item.label)).id, item.key)
            for item, done in produced
            if done.node is not None and not done.leaves
        ]
        return [*own, *(each.name for each in offspring)]

    async def _kinds_of(self, named: Iterable[tuple[Item, Iterable[Target]]]) -> dict[tuple[str, str], Kind]:
        """Return the kinds named by items, each looked up once: there are many names, but few kinds."""
        names = {(target.source or item.source, target.label) for item, targets in named for target in targets}
        return {name: await self._kinds.get(*name) for name in names}


def _name(item: Item, target: Target) -> tuple[str, str]:
    """Return the source and the label of an item's target."""
    return target.source or item.source, target.label


def _targets(done: Product) -> Iterator[Target]:
    """Yield the targets of an outcome that may belong to another source."""
    yield from done.references or ()
    for child in done.children or ():
        yield from child.references
    yield from done.mentions
    yield from done.found


def _within(breadths: Mapping[int, int], item: Item, found: New) -> Iterator[tuple[Kind, NewItem]]:
    """Yield the items that an item found; of those deeper than itself, at most its breadth per kind."""
    counts: Counter[int] = Counter()
    for kind, new in found:
        if new.priority > item.priority:
            counts[kind.id] += 1
        if kind.id not in breadths or new.priority <= item.priority or counts[kind.id] <= breadths[kind.id]:
            yield kind, new


def _born(kind: Kind, key: str, node: Node, fingerprint: str | None = None) -> NewItem:
    """Return the new item of a child. If embedding is its only stage, a child without a text does not wait for it."""
    lifecycle, state = kind.lifecycle, None
    if lifecycle.working == {STAGE} and not node.text.strip() and SKIP in lifecycle.entries:
        state = SKIP
    return NewItem(key, kind.label, state=state, content_hash=fingerprint)


def _aliases(done: Product) -> Iterator[Alias]:
    """Yield the aliases in an outcome, about keys of any label."""
    return (each for each in done.aliases or () if isinstance(each, Alias))


def _said(item: Item, done: Product) -> Iterator[Alias]:
    """Yield every alias of an outcome."""
    for each in done.aliases or ():
        yield each if isinstance(each, Alias) else Alias(item.label, each, item.key)
    if done.alias_of is not None:
        yield Alias(item.label, item.key, done.alias_of)


def _plan_child(plan: Plan, each: Offspring, family: Family) -> None:
    """Leave an unchanged child alone; otherwise plan to write it and process it again."""
    row = family.named(*each.name)
    assert row is not None  # noqa: S101  it was added now or before, and is locked
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
    """True if embedding is the child's only stage, and this very text was embedded."""
    lifecycle, node = each.kind.lifecycle, each.child.node
    at_rest = row.state not in lifecycle.working | lifecycle.waiting | lifecycle.failures
    return at_rest and lifecycle.working == {STAGE} and row.embedded == Passage.of_node(node).hash


def _columns(lines: Sequence[Line]) -> dict[str, str]:
    return {
        "ids": arrays.integers(line.item_id for line in lines),
        "parents": arrays.integers(line.parent_id for line in lines),
        "positions": arrays.integers(line.position for line in lines),
        "edges": arrays.texts(line.edge for line in lines),
        "titles": arrays.texts(line.node.title for line in lines),
        "texts": arrays.texts(line.node.text for line in lines),
        "properties": arrays.documents(line.node.properties for line in lines),
        "hashes": arrays.texts(line.content_hash for line in lines),
    }


def _offspring(parent: Item, position: int, kind: Kind, child: Child) -> Offspring:
    return Offspring(parent, position, kind, child, (kind.id, child.key))


async def _write_checkpoints(connection: Connection, produced: Produced) -> None:
    checkpoints = [(item, done.checkpoint) for item, done in produced if done.checkpoint is not None]
    if checkpoints:
        parameters = {
            "ids": arrays.integers(item.id for item, _ in checkpoints),
            "data": arrays.documents(data for _, data in checkpoints),
        }
        await fetch(connection, "write_checkpoints", parameters)
