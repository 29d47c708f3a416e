"""The words of the document "Machine à états universelle": a node's states, moves and properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NotRequired, TypedDict

from detent.lifecycle import NODE, Event, Lifecycle


def event_between(state: str, to: str, lifecycle: Lifecycle = NODE) -> Event | None:
    """The event that moves a node by hand from one state to another; None if the move is not allowed.

    These are the rows of the lifecycle by which a node gets on, and those by which a node that is at an end, or
    failed, begins anew. The other rows are for the engine: giving back, going straight to the stage that failed,
    and what waits for a later stage when its content changes.
    """
    restarts = state not in lifecycle.waiting and to == lifecycle.initial
    events = (*_GETTING_ON, *((Event.RETRY, Event.CHANGE) if restarts else ()))
    return next(
        (move.event for move in lifecycle.moves if (move.state, move.to) == (state, to) and move.event in events), None
    )


_GETTING_ON = (Event.CLAIM, Event.DONE, Event.SKIP, Event.FAIL)

VALID_TRANSITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {state: tuple(to for to in NODE.states if event_between(state, to)) for state in NODE.states}
)


class TransitionOptions(TypedDict, total=False):
    """The options of a transition."""

    error_type: str | None
    error_message: str | None
    content_hash: str | None
    embedding_provider: str | None
    embedding_model: str | None


class Transition(TypedDict):
    """One line of `transition_batch`."""

    uuid: str
    label: str
    state: str
    options: NotRequired[TransitionOptions]


@dataclass(frozen=True)
class NodeStateInfo:
    """A node's state and properties.

    `retry_count` counts the attempts that failed. The times of progress are those of the last time that the node
    was parsed, linked and embedded, as far back as the journal goes. `embedding_hash` is the hash of the content
    that the embedding was made from.
    """

    uuid: str
    label: str
    project_id: str
    state: str
    state_changed_at: datetime
    error_type: str | None
    error_message: str | None
    retry_count: int
    detected_at: datetime
    parsed_at: datetime | None
    linked_at: datetime | None
    embedded_at: datetime | None
    content_hash: str | None
    embedding_provider: str | None
    embedding_model: str | None
    embedding_hash: str | None
