"""Embeddings as settling writes them: the vector, its model and its text's hash, with the item's new state; and
the return of items that are to be embedded again with another model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from detent.errors import ModelRetired, Unstorable
from detent.knowledge import Embedding
from detent.lifecycle import Event, Lifecycle
from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.ledger.items import CHUNK, Items, move_held
from detent.store.ledger.kinds import Kind, Kinds

if TYPE_CHECKING:
    from detent.store.vectors.models import Model
    from detent.store.vectors.vectors import Vectors

Lines = Sequence[tuple[int, Embedding]]

STAGE = "embedding"
"""Working state in which items get their vectors, in every lifecycle that has one."""

_ONWARD = (Event.STEP, Event.CLAIM, Event.DONE)


class VectorsGone(Exception):
    """Texts that had vectors lost them to tidying meanwhile: they must be embedded after all."""

    def __init__(self, hashes: set[UUID]) -> None:
        self.hashes = hashes


class Embeddings:
    def __init__(self, vectors: Callable[[], Vectors]) -> None:
        self._vectors = vectors

    async def write(self, connection: Connection, lines: Lines) -> None:
        """Write vectors, protect existing ones from tidying, and record their model."""
        hashed = [embedding for _, embedding in lines if embedding.hash is not None]
        for name in sorted({(str(each.provider), str(each.model)) for each in hashed}):
            await self._write_model(connection, name, [e for e in hashed if (e.provider, e.model) == name])
        await note_embeddings(connection, lines)

    async def _write_model(self, connection: Connection, name: tuple[str, str], lines: list[Embedding]) -> None:
        made = [(each.hash, each.vector) for each in lines if each.hash is not None and each.vector is not None]
        known = [each.hash for each in lines if each.hash is not None and each.vector is None]
        model = await self._model(connection, name, len(made[0][1]) if made else None)
        if made:
            import numpy as np

            try:
                vectors = np.stack([vector for _, vector in made])
                await self._vectors().write(connection, model, [number for number, _ in made], vectors)
            except ValueError as error:
                raise Unstorable(f"the vector cannot be kept: {error}") from error
        if known:
            gone = set(known) - await self._vectors().keep(connection, model, known)
            if gone:
                raise VectorsGone(gone)

    async def _model(self, connection: Connection, name: tuple[str, str], dimensions: int | None) -> Model:
        """Return the model in use with this name; a text that has a vector was found under it."""
        from detent.store.vectors.models import Model

        named = [each for row in await fetch(connection, "models") if (each := Model(*row)).is_named(*name, dimensions)]
        if not named:
            raise Unstorable(f"there is no embedding model {name[1]!r} of {name[0]!r} to store its vector under")
        in_use = [model for model in named if model.role != "former"]
        if not in_use:
            raise ModelRetired(named[-1])
        return in_use[0]


async def note_embeddings(connection: Connection, lines: Lines) -> None:
    """Record the model and hash of items' embeddings, in the transaction that moves them."""
    for provider, model in {(embedding.provider, embedding.model) for _, embedding in lines}:
        alike = [(item, each) for item, each in lines if (each.provider, each.model) == (provider, model)]
        parameters = {
            "ids": arrays.integers(item for item, _ in alike),
            "provider": provider,
            "model": model,
            "content_hashes": arrays.texts(embedding.content_hash for _, embedding in alike),
            "hashes": arrays.texts(embedding.hash.hex if embedding.hash else None for _, embedding in alike),
        }
        await fetch(connection, "note_embeddings", parameters)


async def embed_anew(items: Items, kinds: Kinds, rows: Sequence[Any], reason: str) -> int:
    """Send items back to be embedded, and delete the embedding of items that no stage embeds again; return the
    number of items changed.

    `rows` has their states from a moment ago, so that items on their way need not be locked. The decision on each
    item is made once it is locked: others work on it meanwhile, and somebody may be doing the same.
    """
    at_rest = await _at_rest(kinds, rows)

    async def decided(connection: Connection, kind: Kind, held: list[Any]) -> list[int]:
        states = {row.state for row in held}
        ways = {state: way for state in states if (way := way_back(kind.lifecycle, state)) is not None}
        ends = {state for state in states if state not in ways and not _on_its_way(kind.lifecycle, state)}
        targets = {row.id: ways[row.state] for row in held if row.state in ways}
        forgotten = [row.id for row in held if row.state in ends]
        moving = [row for row in held if row.id in targets]
        await move_held(connection, kind.lifecycle, moving, targets, owner=STAGE, reason=reason)
        if forgotten:
            await fetch(connection, "forget_embeddings", {"ids": forgotten})
        return [*targets, *forgotten]

    return sum([len(await items.hold_each(at_rest[n : n + CHUNK], decided)) for n in range(0, len(at_rest), CHUNK)])


async def _at_rest(kinds: Kinds, rows: Sequence[Any]) -> list[int]:
    places = {(row.kind_id, row.state) for row in rows}
    lifecycles = {number: (await kinds.by_id(number)).lifecycle for number, _ in places}
    resting = {(number, state) for number, state in places if not _on_its_way(lifecycles[number], state)}
    return [row.item_id for row in rows if (row.kind_id, row.state) in resting]


def embedded_states(lifecycle: Lifecycle) -> frozenset[str]:
    """Return the states to which embedding leads."""
    if STAGE not in lifecycle.working:
        return frozenset()
    return frozenset(move.to for move in lifecycle.moves if (move.state, move.event) == (STAGE, Event.DONE))


def way_back(lifecycle: Lifecycle, state: str) -> str | None:
    """Return the state from which an embedded item, now in `state`, is embedded again.

    That is the state in which the stage waits, or else the target of a change. None: the item is not past
    embedding, or no move leads back.
    """
    if state not in _behind_embedding(lifecycle):
        return None
    waits = lifecycle.path(STAGE, Event.BACK).to
    if lifecycle.allows(state, waits):
        return waits
    return None if state in lifecycle.waiting else lifecycle.changed(state)


def _on_its_way(lifecycle: Lifecycle, state: str) -> bool:
    """True if the item will be checked later, where it comes to rest."""
    return state in lifecycle.working or (state in lifecycle.waiting and way_back(lifecycle, state) is None)


def _behind_embedding(lifecycle: Lifecycle) -> set[str]:
    """Return the states to which embedding leads, and the resting states to which work goes on from there."""
    ends = embedded_states(lifecycle)
    reached, frontier = set(ends), set(ends)
    while frontier:
        onward = {move.to for move in lifecycle.moves if move.state in frontier and move.event in _ONWARD}
        frontier = onward - reached
        reached |= frontier
    at_rest = reached - lifecycle.waiting - lifecycle.working - lifecycle.failures
    return {*ends, *at_rest}
