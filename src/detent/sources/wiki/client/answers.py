"""Making pages, revisions and sites of what a wiki says about them. Both formats that there are can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from detent.lifecycle import Trouble
from detent.sources.wiki.client.gathering import Found, Row, flag, rows
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.wikitext.site import Site

_DISAMBIGUATOR = "Disambiguator"
"""The part of a wiki that marks disambiguation pages. Where it is not installed, no page is marked."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The current revision of a title: the page's latest revision, the id of the page, and its title if that differs
    from the requested one. If the page is missing, both numbers are 0 and `reason` says why."""

    id: int
    page: int
    moved_to: str = ""
    missing: bool = False
    reason: str = ""


def read_answer(found: Found, *, marks: bool | None = None) -> Answer | None:
    """The page that a title leads to, or why there is none; None if the wiki did not send it.

    `marks`: whether the wiki marks disambiguation pages, so that one without a mark is none.
    """
    if found.absent is not None or found.row is None:
        return found.absent
    page = _page(found.row, marks)
    if not isinstance(page, Page) or page.title == found.asked:
        return page
    return Moved(page.title, found.fragment, page)


def read_revision(found: Found) -> Revision | None:
    """The latest revision of the page that a title leads to; None if the wiki said nothing of it."""
    if found.absent is not None:
        return Revision(0, 0, missing=True, reason=found.absent.reason)
    if found.row is None or not found.row.get("lastrevid"):
        return None
    title = str(found.row["title"])
    return Revision(int(found.row["lastrevid"]), int(found.row["pageid"]), "" if title == found.asked else title)


def read_site(info: Mapping[str, Any]) -> Site | None:
    """Read a wiki's spelling of titles; None if the answer is not a wiki's."""
    return Site.of(info) if info.get("namespaces") else None


def marks_disambiguation(info: Mapping[str, Any]) -> bool | None:
    """Tell whether a wiki marks its disambiguation pages; None if unknown."""
    if "extensions" not in info:
        return None
    return any(row.get("name") == _DISAMBIGUATOR for row in rows(info, "extensions"))


def _page(row: Row, marks: bool | None) -> Page | Absent | None:
    revision: Row | None = next(rows(row, "revisions"), None)
    if revision is None:
        return None
    slot = revision["slots"].get("main", {}) if revision.get("slots") else revision
    if flag(slot, "texthidden"):
        return Absent("The wiki hides the text of its latest revision.", Trouble.FORBIDDEN)
    if flag(slot, "textmissing"):
        return Absent("The wiki has lost the text of its latest revision.", Trouble.MALFORMED)
    text = slot.get("content", slot.get("*"))
    if text is None:
        return None
    marked = "disambiguation" in (row.get("pageprops") or ())
    return Page(
        title=str(row["title"]),
        id=int(row["pageid"]),
        revision=int(revision.get("revid") or row.get("lastrevid") or 0),
        text=str(text),
        length=int(revision.get("size") or row.get("length") or len(str(text).encode(errors="replace"))),
        edited=str(revision.get("timestamp", "")),
        namespace=int(row.get("ns", 0)),
        model=str(slot.get("contentmodel") or row.get("contentmodel") or "wikitext"),
        disambiguation=True if marked else (False if marks else None),
        hidden=frozenset(
            str(each["title"]).partition(":")[2] for each in rows(row, "categories") if flag(each, "hidden")
        ),
    )
