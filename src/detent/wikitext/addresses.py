"""Addresses of pages: the title behind an address copied from a browser, and the address of a title."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_PATHS = ("/index.php/", "/wiki/")
_USUAL_PORT = re.compile(r":(?:80|443)$")
_LEFT_AS_THEY_ARE = ";@$!*(),/~:"
_TITLE = "$1"


def is_address(written: str) -> bool:
    return _ADDRESS.match(written.strip()) is not None


def title_at(address: str, written: str = "") -> str | None:
    """Return the title of the page with this address, by this pattern or by the usual one."""
    try:
        place = urlsplit(address.strip())
    except ValueError:
        return None
    if titles := parse_qs(place.query).get("title"):
        return titles[0]
    own = urlsplit(written.partition(_TITLE)[0]).path
    paths = (own, *_PATHS) if own.endswith("/") else _PATHS
    names = [place.path.partition(each)[2] for each in paths]
    return next((unquote(name) for name in names if name), None)


def is_of(address: str, host: str) -> bool:
    """True if an address is on this host, or on the mobile host that belongs to it."""
    try:
        there = urlsplit(address.strip()).netloc.rpartition("@")[2].lower()
    except ValueError:
        return False
    return host.lower() in (there, _USUAL_PORT.sub("", there).replace(".m.", ".", 1))


def pattern(main_page: str, server: str = "", path: str = "") -> str:
    """Return the pattern of the wiki's addresses, with `$1` for the title.

    It follows from the server and the article path or, without them, from the address of the main page; "" if that
    does not tell.
    """
    written = urljoin(main_page, server or "/").rstrip("/") + path if path else _like(main_page)
    place = urlsplit(written)
    return written if place.scheme in ("http", "https") and place.netloc else ""


def _like(main_page: str) -> str:
    for known in ("title=", *_PATHS):
        before, found, _ = main_page.partition(known)
        if found:
            return f"{before}{found}{_TITLE}"
    return f"{main_page.rpartition('/')[0]}/{_TITLE}" if urlsplit(main_page).path.strip("/") else ""


def address_of(title: str, written: str) -> str:
    """Return the address of a page, as MediaWiki writes it by this pattern."""
    return written.replace(_TITLE, quote(title.replace(" ", "_"), safe=_LEFT_AS_THEY_ARE))
