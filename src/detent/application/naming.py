"""Find the item or node for an id, or for a key that several may have."""

from __future__ import annotations

from detent.errors import Ambiguous, UnknownName
from detent.store import Store

_MOST_NAMED = 10


async def item_named(store: Store, name: str | int, source: str | None = None, label: str | None = None) -> int:
    """The number of the one item that is meant. Ambiguous: several have the key."""
    if isinstance(name, int):
        return (await store.show(name)).item.id
    numbers = await _with_key(store, name, source, label)
    if len(numbers) == 1:
        return numbers[0]
    raise Ambiguous(name, await store.listing.by_id(numbers[:_MOST_NAMED]), len(numbers))


async def node_named(store: Store, name: str | int, source: str | None = None, label: str | None = None) -> int:
    """The number of the one node that is meant, by its own key or an alias."""
    if isinstance(name, int):
        return (await store.show(name)).item.id
    await store.kinds.select(source, label)
    nodes = await store.reading.find(name, source=source, label=label)
    if not nodes:
        return await item_named(store, name, source, label)
    exact = [node for node in nodes if node.key == name]
    meant = exact if len(exact) == 1 else nodes
    if len(meant) == 1:
        return meant[0].id
    raise Ambiguous(name, await store.listing.by_id([node.id for node in nodes[:_MOST_NAMED]]), len(nodes))


async def nodes_named(store: Store, name: str | int) -> list[int]:
    """The numbers of all nodes that may be meant, or of the items that have no node yet."""
    if isinstance(name, int):
        return [(await store.show(name)).item.id]
    nodes = await store.reading.find(name)
    return [node.id for node in nodes] or await store.listing.find(name)


async def _with_key(store: Store, key: str, source: str | None, label: str | None) -> list[int]:
    try:
        return await store.listing.find(key, source=source, label=label)
    except UnknownName:
        if source is None and label is None:
            raise
        await store.kinds.select(source, label)
        [elsewhere] = await store.listing.by_id((await store.listing.find(key))[:1])
        raise UnknownName(
            f"There is no such item with the key {key!r}, but the source {elsewhere.source!r} has one "
            f"with the label {elsewhere.label!r}."
        ) from None
