"""A wait: for how long a service is not to be asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wait:
    """How many seconds it is until a service may be asked. If it is left alone until then, the reason is what it did:
    `refused with 503 Service Unavailable`."""

    seconds: float
    reason: str | None = None
