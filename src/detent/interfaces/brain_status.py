"""The status that the document "Machine à états universelle" specifies for `get_brain_status`: nodes and failures.
A view of the status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from detent.application.status import ErrorGroup

if TYPE_CHECKING:
    from detent.application import Detent
    from detent.application.values import Model

__all__ = ["BrainStatus", "ErrorGroup", "get_brain_status"]

States = Mapping[str, int]
"""The number of items in each state; states without items are left out."""


@dataclass(frozen=True)
class BrainStatus:
    """The counts of all items by state. A project is a source; `embedding` is the model that search uses, and
    `next_embedding` the one that is being filled to replace it."""

    states: States
    labels: Mapping[str, States]
    projects: Mapping[str, States]
    errors: tuple[ErrorGroup, ...]
    embedding: Model | None
    next_embedding: Model | None

    def as_data(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "states": dict(self.states),
            "labels": {label: dict(states) for label, states in self.labels.items()},
            "projects": {project: dict(states) for project, states in self.projects.items()},
            "errors": [group.as_data() for group in self.errors],
            "embedding": {
                "current": self.embedding.as_data() if self.embedding else None,
                "next": self.next_embedding.as_data() if self.next_embedding else None,
            },
        }


def get_brain_status(db: Detent) -> BrainStatus:
    """Ask how all items stand. Counts are kept with every move; of items, only failed ones are read."""
    status = db.status(details=True)
    details = status.details
    return BrainStatus(
        states=status.states,
        labels=status.states_by("label"),
        projects=status.states_by("source"),
        errors=details.failures if details else (),
        embedding=details.model if details else None,
        next_embedding=details.next_model if details else None,
    )
