"""Addresses of services, as somebody writes them. A password may stand in one, which is told to nobody."""

from __future__ import annotations

import re

import httpx

from detent.configuration.masking import masked
from detent.lifecycle import Trouble
from detent.services.failure import ServiceFailed

_MISTAKABLE = re.compile(r"://[^/?#@]*:.*[/?#\[\]].*@", re.DOTALL)
"""A password, or else a port, with a sign after which nobody knows where the host begins."""

_LAST_PORT = 65_535

_AMBIGUOUS = (
    "has an address in which a password cannot be told from the host. In a password, / ? # [ ] are written as %2F %3F "
    "%23 %5B %5D; elsewhere, @ is written as %40"
)


def read_address(
    address: str, *, error: type[ServiceFailed] = ServiceFailed, example: str = "https://api.example.org/v1"
) -> httpx.URL:
    """The address, if a service can be there; otherwise raises `error`, which shows what an address looks like."""
    shown = repr(masked(address) if "://" in address else address.rpartition("@")[2])
    if _MISTAKABLE.search(address):
        raise error(shown, _AMBIGUOUS, Trouble.REJECTED)
    try:
        url = httpx.URL(address.strip())
    except httpx.InvalidURL:  # it repeats what may be a piece of a password
        raise error(shown, "has no address that can be read", Trouble.REJECTED) from None
    if (url.port or 0) > _LAST_PORT:
        wrong = f"has no address that can be read: no port is greater than {_LAST_PORT}"
        raise error(shown, wrong, Trouble.REJECTED)
    if url.scheme not in ("http", "https") or not url.host:
        raise error(shown, f"has no address that can be asked; it looks like {example}", Trouble.REJECTED)
    return url.copy_with(fragment=None)
