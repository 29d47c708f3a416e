"""Items at rest: adding them, and moving them by hand or because their content changed.

Only settling moves items that a worker has. Here they are at most marked as changed, or taken away from the worker
when a person resets them. Every move here first holds its items: it locks their leases and places, and then reads
their state, which nobody else can change any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from detent.errors import DetentError, IllegalMove, KindGone
from detent.knowledge import NewItem
from detent.lifecycle import Event, Lifecycle
from detent.store import arrays
from detent.store.database import Connection, Database, fetch
from detent.store.ledger.kinds import Kind, Kinds
from detent.store.values import check_key, check_new_item, check_text

CHUNK = 10_000
_ROUNDS = 50
"""Attempts to hold an item that is changing hands."""

Verb = Callable[[Connection, Kind, list[Any]], Awaitable[list[int]]]
"""The action on the held items of one kind; returns those it changed."""


class Keyed(NamedTuple):
    """An item's number, key and state, and the trouble of its failure, if it failed."""

    id: int
    key: str
    state: str
    trouble: str | None


def birth_state(kind: Kind, new: NewItem) -> str:
    """Return the initial state of the item; only a lifecycle's entries may be requested."""
    state = new.state or kind.lifecycle.initial
    if state not in kind.lifecycle.entries:
        raise IllegalMove(f"{kind}/{new.key}", "nothing", state, kind.lifecycle.name)
    return state


async def add(connection: Connection, found: Sequence[tuple[Kind, NewItem]]) -> int:
    """Add the items that do not exist yet; return their number. KindGone: a kind was dropped since it was read."""
    added = 0
    for kind, new in _by_kind(found):
        numbers = await _drawn(connection, len(new)) if len(new) > CHUNK else None
        for places in _chunks(new):
            added += await _insert(connection, kind, new, places, numbers)
    return added


def _by_kind(found: Sequence[tuple[Kind, NewItem]]) -> list[tuple[Kind, list[NewItem]]]:
    """Group the items by kind, each once: as first found or, if depths count, as found nearest."""
    kinds: dict[int, Kind] = {}
    by_kind: dict[int, dict[str, NewItem]] = {}
    for kind, new in found:
        kinds[kind.id] = kind
        known = by_kind.setdefault(kind.id, {})
        before = known.setdefault(new.key, new)
        if kind.bounds.depth is not None and new.priority < before.priority:
            known[new.key] = new
    return [(kinds[number], list(by_kind[number].values())) for number in sorted(kinds)]


def _chunks(new: Sequence[NewItem]) -> Iterator[list[int]]:
    """Yield the positions of items to insert at once, sorted by key, so that concurrent adders never deadlock, and
    look-ups walk the index from one end to the other."""
    by_key = sorted(range(len(new)), key=lambda place: new[place].key)
    return (by_key[start : start + CHUNK] for start in range(0, len(new), CHUNK))


async def _drawn(connection: Connection, count: int) -> list[int]:
    """Draw numbers for items that are inserted in several chunks but keep one order."""
    return [row.id for row in await fetch(connection, "draw_numbers", {"count": count})]


async def _insert(
    connection: Connection, kind: Kind, new: Sequence[NewItem], places: Sequence[int], numbers: Sequence[int] | None
) -> int:
    """Add the items of one kind at these positions. Columns that none of them sets are not sent."""
    lines = [new[place] for place in places]
    parameters = {
        "kind": kind.id,
        "initial": kind.lifecycle.initial,
        "waiting": sorted(kind.lifecycle.waiting),
        "keys": arrays.texts(new.key for new in lines),
        "places": arrays.integers(places),
        "numbers": arrays.integers(numbers[place] for place in places) if numbers else None,
        "states": arrays.texts(birth_state(kind, new) for new in lines) if any(new.state for new in lines) else None,
        "priorities": arrays.integers(new.priority for new in lines) if any(new.priority for new in lines) else None,
        "hashes": arrays.texts(new.content_hash for new in lines) if any(new.content_hash for new in lines) else None,
    }
    rows = await fetch(connection, "add", parameters)
    if rows[0].count is None:
        raise KindGone(kind)
    return int(rows[0].count)


class Items:
    """The verbs of items at rest."""

    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    async def add(self, found: Sequence[tuple[Kind, NewItem]]) -> int:
        """Add any number of items, in one transaction."""
        for _, new in found:
            check_new_item(new)
        async with self._database.transaction() as connection:
            return await add(connection, found)

    async def find(self, kind: Kind, keys: Sequence[str]) -> dict[str, Any]:
        """Return the items of a kind by their keys."""
        parameters = {"kinds": [kind.id] * len(keys), "keys": list(keys)}
        return {row.key: row for row in await self._database.fetch("find", parameters)}

    async def keyed(self, kind: Kind, states: Iterable[str], *, after: str, limit: int) -> list[Keyed]:
        """Return items of a kind in these states, in the order of their keys, beyond the key `after`."""
        named = {"kind": kind.id, "states": sorted(states), "after": after, "limit": limit}
        return [Keyed(*row) for row in await self._database.fetch("keys_in", named)]

    async def mark_changed(self, kind: Kind, hashes: Mapping[str, str], *, owner: str) -> int:
        """Send items whose content hash is new back to work; return their number.

        An item that waits for its first stage keeps its place; if it had failed before, it is tried at once, with
        its attempts reset. An item that a worker has is marked, and sent back when it is settled. An item that
        failed has lost its room among a limited number at rest, and waits to be admitted. If the lifecycle has no
        move for a change, only the hash is stored.
        """
        for key, content_hash in hashes.items():
            check_key("a key", key)
            check_text(f"the content hash of {key!r}", content_hash)
        found = await self.find(kind, list(hashes))

        async def told(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            stale = {row.id: hashes[row.key] for row in rows if row.content_hash != hashes[row.key]}
            changed = [row for row in rows if row.id in stale]
            await tell_changed(connection, kind.lifecycle, changed, stale, owner)
            return [row.id for row in changed if _minds_change(kind.lifecycle, row.state)]

        differ = [row.id for row in found.values() if row.content_hash != hashes[row.key]]
        return len(await self.hold_each(differ, told))

    async def retry(
        self, ids: Sequence[int], *, owner: str, to: str | None = None, reason: str = "retried by hand"
    ) -> list[int]:
        """Retry failed items, once each: earlier attempts still count. Return the items retried.

        They go back to the state where the failed stage waits, if the lifecycle allows it, or to `to`.
        """

        async def retried(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            failed = [row for row in rows if row.state in kind.lifecycle.failures]
            targets = {row.id: _retried(kind, row, to) for row in failed}
            await move_held(connection, kind.lifecycle, failed, targets, owner=owner, reason=reason)
            return list(targets)

        return await self.hold_each(ids, retried)

    async def reset(self, ids: Sequence[int], *, owner: str) -> list[int]:
        """Reset items to the beginning of their lifecycle, whatever their state; a worker that has one loses it.
        Return the items reset.

        Their content counts as unknown: an existing hash is replaced by one that no content has.
        """

        async def restarted(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            working = [row.id for row in rows if row.state in kind.lifecycle.working]
            if working:
                await fetch(connection, "seize", {"ids": working})
            targets = {row.id: kind.lifecycle.initial for row in rows}
            hashes = {row.id: "" for row in rows if row.content_hash is not None}
            reason = "reset by hand"
            await move_held(
                connection,
                kind.lifecycle,
                rows,
                targets,
                owner=owner,
                reason=reason,
                forgiven=True,
                hashes=hashes,
            )
            return list(targets)

        return await self.hold_each(ids, restarted)

    async def skip(self, ids: Sequence[int], *, owner: str) -> list[int]:
        """Skip waiting and failed items whose lifecycle allows it; return the items skipped.

        A failed item is retried first, in the same transaction: that is the way out of failure.
        """

        async def skipped(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            ways = {row.id: way for row in rows if (way := way_to_skip(kind.lifecycle, row.state))}
            for step in range(_LONGEST_WAY_TO_SKIP):
                moved = [row for row in rows if len(ways.get(row.id, ())) > step]
                from_there = [row._replace(state=ways[row.id][step - 1]) if step else row for row in moved]
                targets = {row.id: ways[row.id][step] for row in moved}
                await move_held(
                    connection,
                    kind.lifecycle,
                    from_there,
                    targets,
                    owner=owner,
                    reason="skipped by hand",
                    forgiven=True,
                )
            return list(ways)

        return await self.hold_each(ids, skipped)

    async def pause(self, ids: Sequence[int], *, owner: str) -> int:
        """Pause items whose lifecycle allows it; a worker that has one loses it, and its checkpoint stays."""

        async def paused(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            targets = _targets(kind.lifecycle, rows, Event.PAUSE)
            working = [row for row in rows if row.id in targets and row.state in kind.lifecycle.working]
            resting = [row for row in rows if row.id in targets and row not in working]
            if working:
                await fetch(connection, "seize", {"ids": [row.id for row in working]})
            for stopped, forgiven in ((working, True), (resting, False)):
                reason = "paused by hand"
                await move_held(
                    connection, kind.lifecycle, stopped, targets, owner=owner, reason=reason, forgiven=forgiven
                )
            return list(targets)

        return len(await self.hold_each(ids, paused))

    async def resume(self, ids: Sequence[int], *, owner: str) -> int:
        """Resume paused items."""

        async def resumed(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            targets = _targets(kind.lifecycle, rows, Event.RESUME)
            stopped = [row for row in rows if row.id in targets]
            await move_held(connection, kind.lifecycle, stopped, targets, owner=owner, reason="resumed by hand")
            return list(targets)

        return len(await self.hold_each(ids, resumed))

    async def move(self, ids: Sequence[int], to: str, *, owner: str, reason: str | None = None) -> list[int]:
        """Move items from one resting state to another, if their lifecycle has such a row."""

        async def moved(connection: Connection, kind: Kind, rows: list[Any]) -> list[int]:
            lifecycle = kind.lifecycle
            for row in rows:
                if not lifecycle.allows(row.state, to) or to in lifecycle.working:
                    raise IllegalMove(f"{kind}/{row.key}", row.state, to, lifecycle.name)
            resting = [row for row in rows if row.state not in lifecycle.working]
            targets = {row.id: to for row in resting}
            await move_held(connection, lifecycle, resting, targets, owner=owner, reason=reason)
            return list(targets)

        return await self.hold_each(ids, moved)

    async def hold_each(self, ids: Iterable[int], verb: Verb) -> list[int]:
        """Hold items and apply a verb to those of each kind, as many as could be held in one transaction.

        Items that change hands at that moment are retried; returns the items that the verb changed.
        """
        applied: list[int] = []
        left = sorted(set(ids))
        for _ in range(_ROUNDS):
            if not left:
                return applied
            async with self._database.transaction() as connection:
                held, left = await _hold(connection, left)
                for number in sorted({row.kind_id for row in held}):
                    kind = await self._kinds.by_id(number, connection)
                    applied += await verb(connection, kind, [row for row in held if row.kind_id == number])
        raise DetentError(
            f"Item number {left[0]} can be locked neither by its place nor by a lease. "
            "`detent db check` shows what is wrong."
        )


async def _hold(connection: Connection, ids: list[int]) -> tuple[list[Any], list[int]]:
    """Hold the kinds of items, and lock their leases and places, in the order that the schema's first rule
    requires.

    Returns the held items in their present state, and the numbers of those that changed hands meanwhile.
    """
    await fetch(connection, "hold_kinds_of", {"ids": ids})
    await fetch(connection, "join_movers")
    leases = {(row.token, row.state) for row in await fetch(connection, "hold_leases", {"ids": ids})}
    places = {row.item_id for row in await fetch(connection, "hold_places", {"ids": ids})}
    rows = await fetch(connection, "find_by_id", {"ids": ids})
    held = [row for row in rows if row.id in places or (row.token, row.state) in leases]
    return held, sorted({row.id for row in rows} - {row.id for row in held})


def _targets(lifecycle: Lifecycle, rows: list[Any], event: Event) -> dict[int, str]:
    """Return the target of an event for these items, without the items that have none."""
    return {row.id: to for row in rows if (to := lifecycle.target(row.state, event)) is not None}


def _retried(kind: Kind, row: Any, to: str | None) -> str:
    """Return the state in which a failed item is retried: the requested one, or the one where the failed stage
    waits."""
    lifecycle, item = kind.lifecycle, f"{kind}/{row.key}"
    if to is None and row.failed_in in lifecycle.working:
        waited = lifecycle.path(row.failed_in, Event.BACK).to
        if lifecycle.allows(row.state, waited):
            return waited
    return lifecycle.path(row.state, Event.RETRY, to, item=item).to


def way_to_skip(lifecycle: Lifecycle, state: str) -> tuple[str, ...]:
    """Return the states that an item goes through when a person skips it; none if it cannot be skipped."""
    if state in lifecycle.working:
        return ()
    if (skipped := lifecycle.target(state, Event.SKIP)) is not None:
        return (skipped,)
    retried = [move.to for move in lifecycle.moves if move.state == state and move.event is Event.RETRY]
    ways = [(to, end) for to in retried if (end := lifecycle.target(to, Event.SKIP)) is not None]
    return ways[0] if ways else ()


_LONGEST_WAY_TO_SKIP = 2


def _minds_change(lifecycle: Lifecycle, state: str) -> bool:
    return state in lifecycle.working or lifecycle.anew(state) is not None


def _sent_by_change(lifecycle: Lifecycle, row: Any) -> str | None:
    """Return the target of a change for an item; None if it stays, because a worker has it or it waits for its
    first attempt."""
    if lifecycle.changed(row.state) is None and not row.attempt:
        return None
    return lifecycle.anew(row.state)


async def tell_changed(
    connection: Connection, lifecycle: Lifecycle, rows: list[Any], hashes: Mapping[int, str], owner: str
) -> None:
    """Send held items of one lifecycle back to work with a new content hash."""
    working = [row.id for row in rows if row.state in lifecycle.working]
    targets = {row.id: to for row in rows if (to := _sent_by_change(lifecycle, row)) is not None}
    resting = [row for row in rows if row.id in targets]
    untouched = [row.id for row in rows if row.id not in targets and row.id not in working]
    await move_held(
        connection, lifecycle, resting, targets, owner=owner, reason="changed", forgiven=True, hashes=hashes
    )
    for statement, ids in (("note_change", working), ("note_hash", untouched)):
        if ids:
            await fetch(connection, statement, {"ids": ids, "hashes": [hashes[number] for number in ids]})


async def move_held(
    connection: Connection,
    lifecycle: Lifecycle,
    rows: Sequence[Any],
    targets: Mapping[int, str],
    *,
    owner: str,
    reason: str | None,
    forgiven: bool = False,
    hashes: Mapping[int, str] | None = None,
) -> None:
    """Move held items of one lifecycle. `forgiven`: their attempts are reset, and their failure is removed."""
    if not rows:
        return
    ids = [row.id for row in rows]
    parameters = {
        "ids": ids,
        "states": [row.state for row in rows],
        "tos": [targets[row.id] for row in rows],
        "hashes": [(hashes or {}).get(row.id) for row in rows],
        "waiting": sorted(lifecycle.waiting),
        "working": sorted(lifecycle.working),
        "forgiven": forgiven,
        "owner": owner,
        "reason": reason,
    }
    await fetch(connection, "vacate", {"ids": ids})
    await fetch(connection, "move", parameters)
    if forgiven:
        await fetch(connection, "forget_failures", {"ids": ids})
