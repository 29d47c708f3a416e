"""The state queries of the document "Expansion State Machine": how far an expansion has come. A view of the status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.application.expansions import ExpansionStatus, StaleClaim, StateShare

if TYPE_CHECKING:
    from detent.application import Detent

__all__ = ["ExpansionStatus", "StaleClaim", "StateShare", "get_expansion_status"]


def get_expansion_status(db: Detent, source: str = "wiki") -> ExpansionStatus | None:
    """Ask how far a source's expansion has come; None if it has no articles."""
    details = db.status(details=True).details
    return next((each for each in details.expansions if each.source == source), None) if details else None
