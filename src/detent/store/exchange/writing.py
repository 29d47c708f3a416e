"""Writing imported items: new ones with COPY, others in place of their earlier content."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from detent.store import arrays
from detent.store.database import Connection, fetch
from detent.store.exchange.declaring import Targets
from detent.store.exchange.records import FAILURE, ItemLine, column
from detent.store.ledger.bounds import HELD_BACK
from detent.store.ledger.family import ChangedHands, held

_OWNER = "import"
_NODE = """COPY node (item_id, parent_id, text_id, written_at,
                      position, edge, shared, title, text, properties, content_hash) FROM STDIN"""
_ITEM = "COPY item (id, kind_id, key, state, priority, not_before, content_hash, since, added_at) FROM STDIN"
_PLACE = "COPY place (kind_id, state, not_before, priority, item_id) FROM STDIN"
_REFERENCE = "COPY reference (item_id, kind_id, position, type, key, properties) FROM STDIN"
_TEXT_CHANGE = "COPY text_change (text_id, gone) FROM STDIN"


async def number_items(connection: Connection, lines: Sequence[ItemLine]) -> list[ItemLine]:
    """Give each item its number; return the items that exist already."""
    asked = {
        "kinds": arrays.integers(line.kind_id for line in lines),
        "keys": arrays.texts(line.name.key for line in lines),
    }
    known = {(row.kind_id, row.key): row.id for row in await fetch(connection, "find", asked)}
    if known:
        for line in lines:
            line.id = known.get((line.kind_id, line.name.key), 0)
    new = [line for line in lines if not line.id]
    for line, number in zip(new, await _numbers(connection, "new_items", len(new)), strict=True):
        line.id = number
    return [line for line in lines if (line.kind_id, line.name.key) in known] if known else []


async def write_items(
    connection: Connection, targets: Targets, lines: Sequence[ItemLine], there: Sequence[ItemLine]
) -> None:
    """Write items with their nodes and references. The existing ones, `there`, have their numbers already."""
    gone = await _clear(connection, targets, there) if there else []
    old = {line.id for line in there}
    new = [line for line in lines if line.id not in old] if old else lines
    now = (await fetch(connection, "moment"))[0].now
    for line in new:
        line.not_before = _not_before(targets, line)
    await _copy(connection, _ITEM, [_item(line, now) for line in new])
    await _copy(connection, _PLACE, [_place(line) for line in new])
    await _count(connection, new)
    nodes = [line for line in lines if line.content is not None]
    fresh = [line for line in nodes if not line.text_id]
    for line, number in zip(fresh, await _numbers(connection, "new_texts", len(fresh)), strict=True):
        line.text_id = number
    await _copy(connection, _NODE, [_node(line, now) for line in nodes])
    changes = [f"{number}\tt\n" for number in gone] + [f"{line.text_id}\tf\n" for line in fresh]
    await _copy(connection, _TEXT_CHANGE, changes)
    await _copy(connection, _REFERENCE, [row for line in lines if line.links for row in _references(targets, line)])
    await _keep_rest(connection, lines)


async def _clear(connection: Connection, targets: Targets, there: Sequence[ItemLine]) -> list[int]:
    """Take existing items away from their holders, and delete their content.

    Returns the numbers of texts that are gone. An unchanged text keeps its number.
    """
    ids = sorted(line.id for line in there)
    by_id = {line.id: line for line in there}
    await _hold(connection, ids, targets)
    gone = []
    changed = []
    for row in await fetch(connection, "kept_texts", {"ids": ids}):
        line = by_id[row.item_id]
        node = line.record.get("node")
        if node and (row.title, row.text) == (_hash(node["title"]), _hash(node["text"])):
            line.text_id = row.text_id
            line.state = line.embedded if row.embedded else line.state
        else:
            gone.append(row.text_id)
            changed.append(row.item_id)
    await fetch(connection, "clear_items", {"ids": ids, "changed": changed})
    parameters = {
        "ids": arrays.integers(ids),
        "states": arrays.texts(by_id[number].state for number in ids),
        "priorities": arrays.integers(by_id[number].priority for number in ids),
        "hashes": arrays.texts(by_id[number].content_hash for number in ids),
        "not_before": [_not_before(targets, by_id[number]) for number in ids],
        "owner": _OWNER,
    }
    await fetch(connection, "put_items", parameters)
    return gone


async def _hold(connection: Connection, ids: list[int], targets: Targets) -> None:
    """Lock items in the order that the schema's first rule requires, and take them away from their workers."""
    leases = {(row.token, row.state) for row in await fetch(connection, "hold_leases", {"ids": ids})}
    rows = await held(connection, ids, leases)
    if len(rows) < len(ids):
        raise ChangedHands
    working = [row.id for row in rows if targets.is_working(row.kind_id, row.state)]
    if working:
        await fetch(connection, "seize", {"ids": working})
    await fetch(connection, "vacate", {"ids": ids})


async def _count(connection: Connection, new: Iterable[ItemLine]) -> None:
    counts = Counter([(line.kind_id, line.state) for line in new])
    if counts:
        parameters = {
            "kinds": [kind for kind, _ in counts],
            "states": [state for _, state in counts],
            "counts": list(counts.values()),
        }
        await fetch(connection, "count_new", parameters)


async def _keep_rest(connection: Connection, lines: Sequence[ItemLine]) -> None:
    """Write the items' failures and checkpoints."""
    failed = [(line.id, failure) for line in lines if (failure := line.record.get("failure"))]
    if failed:
        parameters: dict[str, Any] = {"ids": [number for number, _ in failed]}
        for name in FAILURE:
            parameters[f"{name}s"] = [failure[name] for _, failure in failed]
        await fetch(connection, "keep_failures", parameters)
    begun = [(line.id, data) for line in lines if (data := line.record.get("checkpoint")) is not None]
    if begun:
        parameters = {"ids": [number for number, _ in begun], "data": [Jsonb(data) for _, data in begun]}
        await fetch(connection, "write_checkpoints", parameters)


async def _numbers(connection: Connection, statement: str, count: int) -> Iterable[int]:
    """Reserve numbers, returned as one text: that many rows would take longer than the items they number."""
    if not count:
        return ()
    listed: str = (await fetch(connection, statement, {"count": count}))[0].numbers
    return map(int, listed.split(","))


async def _copy(connection: Connection, statement: str, lines: Iterable[str]) -> None:
    data = "".join(lines)
    if data:
        async with connection.cursor() as cursor, cursor.copy(statement) as copy:
            await copy.write(data)


def _item(line: ItemLine, now: str) -> str:
    content_hash = line.record.get("content_hash")
    written = "\\N" if content_hash is None else column(content_hash)
    key, added = column(line.name.key), line.record.get("added_at") or now
    where = f"{line.state}\t{line.priority}\t{line.not_before}"
    return f"{line.id}\t{line.kind_id}\t{key}\t{where}\t{written}\t{now}\t{added}\n"


def _place(line: ItemLine) -> str:
    return f"{line.kind_id}\t{line.state}\t{line.not_before}\t{line.priority}\t{line.id}\n"


def _not_before(targets: Targets, line: ItemLine) -> str:
    return HELD_BACK.isoformat() if targets.holds_back(line.kind_id, line.state) else "-infinity"


def _node(line: ItemLine, now: str) -> str:
    parent = "\\N" if line.parent_id is None else line.parent_id
    return f"{line.id}\t{parent}\t{line.text_id}\t{now}\t{line.content}\n"


def _references(targets: Targets, line: ItemLine) -> Iterable[str]:
    for source, label, columns in line.links:
        yield f"{line.id}\t{targets.get(source, label, line.line).id}\t{columns}\n"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
