"""The state machine of the document "Machine à états universelle pour l'ingestion"."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from detent.application import Detent
from detent.application.steering import Found, owner_name, require_name
from detent.application.values import ItemRecord, Kind, Listed, Remark, Settled
from detent.errors import DetentError
from detent.interfaces.node_state import NodeStateInfo, Transition, TransitionOptions, event_between
from detent.knowledge import Embedding, Item, NewItem
from detent.lifecycle import NODE, PASSAGE, Event, Lifecycle

log = logging.getLogger("detent.interfaces")

HOME = "nodes"
"""The source of nodes that belong to no project."""

_LIFECYCLES = (NODE, PASSAGE)
_PAGE = 5_000
_PARSED, _LINKED, _READY, _ERROR = "parsed", "linked", "ready", "error"

Name = tuple[str, str]
"""A node's label and uuid."""


class Wish(NamedTuple):
    """A requested transition of a node."""

    state: str
    options: TransitionOptions


class NodeStateMachine:
    """Moves nodes through parsing, linking and embedding, as the program says that drives it.

    A project is a source. With `source` the machine sees that one alone; without, the nodes of all projects, and
    new nodes that name no project belong to `nodes`.

    `parsing`, `linking` and `embedding` mean that somebody has the node: entering one takes a lease for this
    machine, and only this machine can take the node out again. A lease lasts `lease_seconds`; nodes taken
    together have one lease, which begins anew whenever one of them is finished, and `heartbeat` keeps all. What a
    crashed program left behind comes back to the state before when its lease has run out, and after
    `max_attempts` crashes goes to `error`; looking for nodes takes care of that, and so does `recover`.

    Nodes come from `detect`, from a source, or from a transition of an unknown node to `pending`. Sections, scopes
    and passages of a source are nodes too, that begin in `linked`: they are parsed and linked with what they are in.
    """

    def __init__(
        self, db: Detent, source: str | None = None, *, lease_seconds: float = 300.0, max_attempts: int = 3
    ) -> None:
        self._db = db
        self._verbs = db.asynchronous
        self._steering = db.asynchronous.steering
        self._source = source
        self._lease_seconds = lease_seconds
        self._max_attempts = max_attempts
        self._owner = owner_name("nodes")
        self._held: dict[int, Item] = {}
        self._known: list[Kind] = []

    def detect(self, label: str, nodes: Iterable[str] | Mapping[str, str | None], project_id: str | None = None) -> int:
        """Add nodes as `pending`, given by uuid, or by uuid and content hash; returns how many were new."""
        return self._db.wait(self._detect(label, nodes, project_id))

    def transition(
        self,
        node_uuid: str,
        node_label: str,
        new_state: str,
        *,
        error_type: str | None = None,
        error_message: str | None = None,
        content_hash: str | None = None,
        embedding_provider: str | None = None,
        embedding_model: str | None = None,
    ) -> bool:
        """Move a node. False if it was not moved and nothing was written: there is no such move or no such node,
        or another program has it."""
        options: TransitionOptions = {
            "error_type": error_type,
            "error_message": error_message,
            "content_hash": content_hash,
            "embedding_provider": embedding_provider,
            "embedding_model": embedding_model,
        }
        line: Transition = {"uuid": node_uuid, "label": node_label, "state": new_state, "options": options}
        return self.transition_batch([line]) == 1

    def transition_batch(self, transitions: Iterable[Transition]) -> int:
        """Move many nodes in a few statements; returns how many were moved. Where a node is named several times,
        its moves are made in that order."""
        return sum(self._db.wait(self._move(wishes)) for wishes in _rounds(transitions))

    def get_nodes_by_state(
        self,
        state: str,
        *,
        label: str | None = None,
        project_id: str | None = None,
        limit: int | None = None,
        error_type: str | None = None,
        parts: bool = True,
    ) -> list[NodeStateInfo]:
        """The nodes in a state, in the order in which they would be worked on; with `error_type` those in `error`
        that failed like that; without `parts`, none that came with another, such as a section."""
        lifecycles = _LIFECYCLES if parts else (NODE,)
        return self._db.wait(self._list(state, label, project_id, limit, error_type, lifecycles=lifecycles))

    def get_node(self, node_uuid: str, node_label: str | None = None) -> NodeStateInfo | None:
        """One node's state and properties, or None if there is no such node."""
        return self._db.wait(self._get(node_uuid, node_label))

    def count_by_state(self, project_id: str | None = None) -> dict[str, int]:
        """The number of nodes in each state."""
        return self._db.wait(self._count(project_id))

    def retry_errors(
        self, *, error_type: str | None = None, max_retries: int = 3, project_id: str | None = None
    ) -> int:
        """Send the nodes in `error` back to the beginning of which fewer than `max_retries` attempts have failed;
        returns how many. What was counted stays counted until the node's content changes."""
        return self._db.wait(self._retry(error_type, max_retries, project_id))

    def mark_changed(self, node_uuid: str, new_content_hash: str) -> bool:
        """Send a node back to `pending` if its content hash is a new one; returns whether it is. A node that is
        being worked on goes round again when that is finished."""
        return self.mark_changed_batch([{"uuid": node_uuid, "content_hash": new_content_hash}]) == 1

    def mark_changed_batch(self, changes: Iterable[Mapping[str, str]]) -> int:
        """The same for many, given as `{"uuid": …, "content_hash": …}`; returns how many had changed."""
        return self._db.wait(self._mark({change["uuid"]: change["content_hash"] for change in changes}))

    def heartbeat(self) -> list[str]:
        """Keep all nodes that this machine has taken; returns the uuids of those it has lost."""
        return self._db.wait(self._keep(set(self._held)))

    def recover(self) -> int:
        """Take back the nodes whose leases have run out; returns how many. Looking for nodes does it too."""
        return self._db.wait(self._recover())

    async def _detect(self, label: str, nodes: Iterable[str] | Mapping[str, str | None], project_id: str | None) -> int:
        hashes: Mapping[str, str | None] = nodes if isinstance(nodes, Mapping) else dict.fromkeys(nodes)
        source = project_id or self._source or HOME
        await self._verbs.declare(source, label, NODE)
        return await self._verbs.add(
            source, label, [NewItem(uuid, label, content_hash=said) for uuid, said in hashes.items()]
        )

    async def _move(self, wishes: Mapping[Name, Wish]) -> int:
        found = await self._find(wishes)
        moves: dict[tuple[str, Event, str, str], list[tuple[Found, Wish]]] = {}
        born: dict[str, dict[str, str | None]] = {}
        for name, wish in wishes.items():
            row = found.get(name)
            if row is None and wish.state == NODE.initial:
                born.setdefault(name[0], {})[name[1]] = wish.options.get("content_hash")
                continue
            lifecycle = self._lifecycle(row) if row is not None else NODE
            event = event_between(row.state, wish.state, lifecycle) if row is not None else None
            if row is None or event is None:
                log.warning("%s %s is %s and cannot go to %s.", *name, row.state if row else "unknown", wish.state)
                continue
            moves.setdefault((lifecycle.name, event, row.state, wish.state), []).append((row, wish))
        moved = 0
        for label, hashes in born.items():
            moved += await self._detect(label, hashes, None)
        for (_, event, state, to), lines in moves.items():
            moved += await self._move_alike(event, state, to, lines)
        return moved

    def _lifecycle(self, row: Found) -> Lifecycle:
        """That of a node, or of one that came with another: its text and its links were written with that."""
        return next(kind.lifecycle for kind in self._known if kind.id == row.kind_id)

    async def _move_alike(self, event: Event, state: str, to: str, lines: Sequence[tuple[Found, Wish]]) -> int:
        """Make one move with many nodes of one lifecycle."""
        if event in (Event.DONE, Event.FAIL):
            return await self._finish(state, to, lines)
        remarks = {row.id: _remark(wish, row.content_hash) for row, wish in lines}
        if event is not Event.CLAIM:
            return len(await self._steering.send(remarks, state, to, owner=self._owner))
        taken = await self._steering.take(
            remarks,
            self._lifecycle(lines[0][0]),
            state,
            owner=self._owner,
            lease_seconds=self._lease_seconds,
            max_attempts=self._max_attempts,
        )
        self._held |= {item.id: item for item in taken}
        return len(taken)

    async def _finish(self, state: str, to: str, lines: Sequence[tuple[Found, Wish]]) -> int:
        """Take nodes out of work that this machine has taken."""
        held = [(item, wish) for row, wish in lines if (item := self._held.get(row.id)) and item.state == state]
        receipts = await self._steering.finish([(item, to, _remark(wish, item.content_hash)) for item, wish in held])
        lost = [receipt for receipt in receipts if receipt.status is Settled.LOST]
        if len(lost) + len(lines) - len(held):
            log.warning("%d nodes in %s are not held by this program.", len(lost) + len(lines) - len(held), state)
        for receipt in receipts:
            self._held.pop(receipt.item.id, None)
        tokens = {item.token for item, _ in held}
        await self._keep({number for number, item in self._held.items() if item.token in tokens})
        return len(receipts) - len(lost)

    async def _keep(self, ids: set[int]) -> list[str]:
        """Renew the leases of these nodes; returns the uuids of those that were lost."""
        if not ids:
            return []
        kept = await self._verbs.renew({self._held[number].token for number in ids})
        lost = [number for number in ids if self._held[number].token not in kept]
        return sorted(self._held.pop(number).key for number in lost)

    async def _list(
        self,
        state: str,
        label: str | None,
        project_id: str | None,
        limit: int | None,
        error_type: str | None,
        *,
        lifecycles: Sequence[Lifecycle],
    ) -> list[NodeStateInfo]:
        require_name("state of a node", state, NODE.states)
        if error_type is not None and state != _ERROR:
            return []
        await self._recover()
        found: list[Listed] = []
        for kind in await self._kinds(project_id, label):
            is_meant = kind.lifecycle.name in {lifecycle.name for lifecycle in lifecycles}
            if not is_meant or not _can_be(kind.lifecycle, state, error_type):
                continue
            mark: str | None = None
            while limit is None or len(found) < limit:
                size = _PAGE if limit is None else min(_PAGE, limit - len(found))
                page = await self._verbs.items(
                    source=kind.source, label=kind.label, state=state, error_kind=error_type, limit=size, after=mark
                )
                found += page.items
                mark = page.next
                if mark is None:
                    break
        return await self._describe(found)

    async def _get(self, uuid: str, label: str | None) -> NodeStateInfo | None:
        kinds = await self._kinds(None, label)
        rows = await self._steering.find([(kind, uuid) for kind in kinds])
        if not rows:
            return None
        return (await self._describe([(await self._verbs.show(rows[0].id)).item]))[0]

    async def _describe(self, nodes: Sequence[Listed]) -> list[NodeStateInfo]:
        described: list[NodeStateInfo] = []
        for start in range(0, len(nodes), _PAGE):
            page = nodes[start : start + _PAGE]
            progress = await self._steering.progress([node.id for node in page])
            described += [_info(node, progress[node.id]) for node in page]
        return described

    async def _count(self, project_id: str | None) -> dict[str, int]:
        await self._recover()
        wanted = {(kind.source, kind.label) for kind in await self._kinds(project_id)}
        counts = dict.fromkeys(NODE.states, 0)
        for line in await self._verbs.count_by_state():
            if (line.source, line.label) in wanted:
                counts[line.state] += line.count
        return counts

    async def _retry(self, error_type: str | None, max_retries: int, project_id: str | None) -> int:
        await self._recover()
        kinds = await self._kinds(project_id)
        count = 0
        for lifecycle in _LIFECYCLES:
            alike = [kind for kind in kinds if kind.lifecycle.name == lifecycle.name]
            count += await self._steering.retry(
                alike, _ERROR, lifecycle.initial, owner=self._owner, error_kind=error_type, below=max_retries
            )
        return count

    async def _mark(self, hashes: Mapping[str, str]) -> int:
        kinds = {kind.id: kind for kind in await self._kinds(None)}
        rows = await self._steering.find([(kind, uuid) for kind in kinds.values() for uuid in hashes])
        changed = 0
        for number in sorted({row.kind_id for row in rows}):
            told = {row.key: hashes[row.key] for row in rows if row.kind_id == number}
            changed += await self._steering.mark_changed(kinds[number], told, owner=self._owner)
        return changed

    async def _recover(self) -> int:
        return len(await self._steering.reclaim(await self._kinds(None), owner=self._owner))

    async def _kinds(self, project_id: str | None, label: str | None = None) -> list[Kind]:
        """The kinds of nodes of a project, or of all that this machine sees."""
        followed = {lifecycle.name for lifecycle in _LIFECYCLES}
        return await self._steering.kinds(followed, source=project_id or self._source, label=label)

    async def _find(self, names: Iterable[Name]) -> dict[Name, Found]:
        """Nodes by label and uuid."""
        wanted = set(names)
        found = await self._look_up(wanted)
        if wanted - found.keys():
            self._known = await self._kinds(None)
            found |= await self._look_up(wanted - found.keys())
        return found

    async def _look_up(self, names: set[Name]) -> dict[Name, Found]:
        labels = {kind.id: kind.label for kind in self._known}
        rows = await self._steering.find(
            [(kind, uuid) for label, uuid in names for kind in self._known if kind.label == label]
        )
        found: dict[Name, Found] = {}
        for row in rows:
            name = (labels[row.kind_id], row.key)
            if name in found:
                raise DetentError(
                    f"{name[0]} {name[1]} is in several projects. Make a NodeStateMachine for one with source=…."
                )
            found[name] = row
        return found


def _can_be(lifecycle: Lifecycle, state: str, error_type: str | None) -> bool:
    """Tell whether this lifecycle has this state, and can fail with this kind: a section is never parsed."""
    elsewhere = set(NODE.failure_kinds.values()) - set(lifecycle.failure_kinds.values())
    return state in lifecycle.states and error_type not in elsewhere


def _rounds(transitions: Iterable[Transition]) -> list[dict[Name, Wish]]:
    """The transitions in as few rounds as name each node once."""
    rounds: list[dict[Name, Wish]] = []
    seen: Counter[Name] = Counter()
    for line in transitions:
        name = (line["label"], line["uuid"])
        if seen[name] == len(rounds):
            rounds.append({})
        rounds[seen[name]][name] = Wish(line["state"], line.get("options", {}))
        seen[name] += 1
    return rounds


def _remark(wish: Wish, content_hash: str | None) -> Remark:
    """The part of a request that is stored. A ready node was embedded from its content at the claim."""
    said = wish.options
    new_hash = said.get("content_hash")
    embedded = (new_hash or content_hash) if wish.state == _READY else None
    embedding = Embedding(said.get("embedding_provider"), said.get("embedding_model"), embedded)
    return Remark(
        content_hash=new_hash,
        error_kind=said.get("error_type"),
        message=said.get("error_message"),
        embedding=embedding if any(embedding) else None,
    )


def _info(node: Listed, progress: ItemRecord) -> NodeStateInfo:
    failed = node.state == _ERROR
    working = node.state in NODE.working
    return NodeStateInfo(
        uuid=node.key,
        label=node.label,
        project_id=node.source,
        state=node.state,
        state_changed_at=node.since,
        error_type=node.error_kind if failed else None,
        error_message=node.error if failed else None,
        retry_count=progress.retried + node.attempt - (1 if working else 0),
        detected_at=node.added_at,
        parsed_at=progress.arrivals.get(_PARSED),
        linked_at=progress.arrivals.get(_LINKED),
        embedded_at=progress.arrivals.get(_READY),
        content_hash=node.content_hash,
        embedding_provider=progress.embedding.provider,
        embedding_model=progress.embedding.model,
        embedding_hash=progress.embedding.content_hash,
    )
