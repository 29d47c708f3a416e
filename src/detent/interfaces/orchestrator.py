"""The orchestrator of the document "Machine à états universelle pour l'ingestion"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from detent.application import Detent
from detent.interfaces.node_state import VALID_TRANSITIONS, NodeStateInfo, Transition, TransitionOptions
from detent.interfaces.node_state_machine import NodeStateMachine
from detent.lifecycle import NODE


@dataclass(frozen=True)
class FileChange:
    """A file that is new, changed or gone. A file whose content hash is not known counts as changed."""

    path: str
    content_hash: str | None = None
    deleted: bool = False
    label: str = "File"


@dataclass
class IngestionStats:
    """The result of `reingest`. `changed` counts new nodes too, and `skipped` those that need no embedding."""

    changed: int = 0
    parsed: int = 0
    linked: int = 0
    embedded: int = 0
    skipped: int = 0
    errors: int = 0
    deleted: int = 0


Work = Callable[[NodeStateInfo], TransitionOptions | None]


class _Stage(NamedTuple):
    """The states of nodes before, during and after a stage."""

    waiting: str
    working: str
    done: str
    error_type: str


_PARSING = _Stage("pending", "parsing", "parsed", "parse")
_LINKING = _Stage("parsed", "linking", "linked", "link")
_EMBEDDING = _Stage("linked", "embedding", "ready", "embed")


class IngestionOrchestrator:
    """Takes nodes whose files changed through parsing, linking and embedding, with a NodeStateMachine.

    Make a class of your own from it that says what is to be done with a node: `parse_node`, `link_node` and
    `embed_node`. What these return is said with the transition that ends the stage, such as
    `{"embedding_provider": "openai", "embedding_model": …}`; None says nothing. What they raise becomes the node's
    error, and the others go on.

    Several orchestrators may work on the same database: each node is taken by one of them. In a stage for which the
    class says nothing, nodes of sources that Detent reads itself, such as folders that were added, are left to it.
    """

    def __init__(self, db: Detent, machine: NodeStateMachine | None = None) -> None:
        self.db = db
        self.machine = machine or NodeStateMachine(db)

    def parse_node(self, node: NodeStateInfo) -> TransitionOptions | None:
        """Read a node's content."""
        return None

    def link_node(self, node: NodeStateInfo) -> TransitionOptions | None:
        """Make a node's relations."""
        return None

    def embed_node(self, node: NodeStateInfo) -> TransitionOptions | None:
        """Make a node's embedding."""
        return None

    def needs_embedding(self, node: NodeStateInfo) -> bool:
        """Tell whether a node is embedded; otherwise it goes from `linked` to `skip`."""
        return True

    def reingest(self, changes: Iterable[FileChange]) -> IngestionStats:
        """Take note of changes, then work on all nodes that wait, those of earlier changes too."""
        stats = IngestionStats()
        told = {(change.label, change.path): change for change in changes}
        stats.deleted = sum([self._delete(change) for change in told.values() if change.deleted])
        stats.changed = self._mark([change for change in told.values() if not change.deleted])
        stats.parsed, failed = self._drive(_PARSING, self.parse_node)
        stats.errors += failed
        stats.linked, failed = self._drive(_LINKING, self.link_node)
        stats.errors += failed
        stats.skipped = self._skip()
        stats.embedded, failed = self._drive(_EMBEDDING, self.embed_node)
        stats.errors += failed
        return stats

    def _delete(self, change: FileChange) -> int:
        node = self.machine.get_node(change.path, change.label)
        return self.db.remove(node.project_id, change.label, [change.path]) if node is not None else 0

    def _mark(self, changes: Sequence[FileChange]) -> int:
        """Send nodes back to `pending` whose content is new, and add those that are; returns how many."""
        known = {change: self.machine.get_node(change.path, change.label) for change in changes}
        new: dict[str, dict[str, str | None]] = {}
        for change in [change for change, node in known.items() if node is None]:
            new.setdefault(change.label, {})[change.path] = change.content_hash
        hashes = [
            {"uuid": change.path, "content_hash": change.content_hash}
            for change, node in known.items()
            if node is not None and change.content_hash is not None
        ]
        unknown = [
            _move(node, NODE.initial)
            for change, node in known.items()
            if node is not None and change.content_hash is None and NODE.initial in VALID_TRANSITIONS[node.state]
        ]
        added = sum([self.machine.detect(label, nodes) for label, nodes in new.items()])
        return added + self.machine.mark_changed_batch(hashes) + self.machine.transition_batch(unknown)

    def _drive(self, stage: _Stage, work: Work) -> tuple[int, int]:
        """Take the nodes that wait through one stage, one by one; returns how many were done and how many failed."""
        done = failed = 0
        for node in self._waiting(stage, work):
            if not self.machine.transition(node.uuid, node.label, stage.working):
                continue  # another program was faster
            try:
                options = work(node) or {}
            except Exception as error:
                failed += self.machine.transition(
                    node.uuid, node.label, "error", error_type=stage.error_type, error_message=_message(error)
                )
            else:
                done += self.machine.transition(node.uuid, node.label, stage.done, **options)
        return done, failed

    def _skip(self) -> int:
        return self.machine.transition_batch(
            [
                _move(node, "skip")
                for node in self._waiting(_EMBEDDING, self.embed_node)
                if not self.needs_embedding(node)
            ]
        )

    def _waiting(self, stage: _Stage, work: Work) -> list[NodeStateInfo]:
        waiting = self.machine.get_nodes_by_state(stage.waiting, parts=False)
        if getattr(work, "__func__", None) not in _NOTHING:
            return waiting
        read_by_detent = {each.name for each in self.db.list_sources() if each.is_read_by_detent}
        return [node for node in waiting if node.project_id not in read_by_detent]


_NOTHING = (IngestionOrchestrator.parse_node, IngestionOrchestrator.link_node, IngestionOrchestrator.embed_node)


def _move(node: NodeStateInfo, state: str) -> Transition:
    return {"uuid": node.uuid, "label": node.label, "state": state}


def _message(error: Exception) -> str:
    return str(error) or type(error).__name__
