"""The address of a wiki's API, as somebody writes it. A password may stand in it, which is told to nobody."""

from __future__ import annotations

import re

import httpx

from detent.configuration.masking import masked
from detent.lifecycle import Trouble
from detent.sources.wiki.client.failure import WikiFailed

_MISTAKABLE = re.compile(r"://[^/?#@]*:.*[/?#\[\]].*@", re.DOTALL)
"""A password, or else a port, with a sign after which nobody knows where the host begins."""

_LAST_PORT = 65_535

_WRITTEN_OTHERWISE = (
    "has an address in which a password cannot be told from the host. In a password, / ? # [ ] are written as %2F %3F "
    "%23 %5B %5D; elsewhere, @ is written as %40"
)


def read_address(api: str) -> httpx.URL:
    """The address, if the API of a wiki can be there."""
    shown = repr(masked(api) if "://" in api else api.rpartition("@")[2])
    if _MISTAKABLE.search(api):
        raise WikiFailed(shown, _WRITTEN_OTHERWISE, Trouble.REJECTED)
    try:
        url = httpx.URL(api.strip())
    except httpx.InvalidURL:  # it repeats what may be a piece of a password
        raise WikiFailed(shown, "has no address that can be read", Trouble.REJECTED) from None
    if (url.port or 0) > _LAST_PORT:
        raise WikiFailed(
            shown, f"has no address that can be read: no port is greater than {_LAST_PORT}", Trouble.REJECTED
        )
    if url.scheme not in ("http", "https") or not url.host:
        wrong = "has no address that can be asked; it looks like https://en.wikipedia.org/w/api.php"
        raise WikiFailed(shown, wrong, Trouble.REJECTED)
    return url.copy_with(fragment=None)
