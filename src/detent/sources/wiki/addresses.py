"""Addresses of pages, as somebody copies them from a browser, where a title is wanted."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_PATHS = ("/index.php/", "/wiki/")
_USUAL_PORT = re.compile(r":(?:80|443)$")


def is_address(written: str) -> bool:
    return _ADDRESS.match(written.strip()) is not None


def title_at(address: str) -> str | None:
    """The title of the page with this address, where it is written as most wikis do."""
    try:
        place = urlsplit(address.strip())
    except ValueError:
        return None
    if titles := parse_qs(place.query).get("title"):
        return titles[0]
    names = [place.path.partition(each)[2] for each in _PATHS]
    return next((unquote(name) for name in names if name), None)


def is_of(address: str, host: str) -> bool:
    """Whether an address is one of this host, which phones are sent to another one of."""
    try:
        there = urlsplit(address.strip()).netloc.rpartition("@")[2].lower()
    except ValueError:
        return False
    return host.lower() in (there, _USUAL_PORT.sub("", there).replace(".m.", ".", 1))
