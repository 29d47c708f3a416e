"""The answers to one query combined: the pages, and the page of each title."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

from detent.lifecycle import Trouble
from detent.sources.wiki.pages import Absent

Row = dict[str, Any]


class Found(NamedTuple):
    """The page of a title. `row` is the wiki's row of the page, if there is one, and otherwise `absent` is the reason;
    with neither, the answer lacks the title. `fragment` is the section that a redirect names."""

    asked: str
    fragment: str = ""
    row: Row | None = None
    absent: Absent | None = None


class _Redirect(NamedTuple):
    to: str
    fragment: str


@dataclass
class _Way:
    """The titles from the one that was asked for to the last, and those of them that are redirects."""

    titles: list[str]
    redirects: list[_Redirect] = field(default_factory=list)
    circle: bool = False


class Gathered:
    """The answers so far. A page is sent again and again until all of it was, with more of its rows each time."""

    def __init__(self) -> None:
        self._spellings: dict[str, str] = {}
        self._redirects: dict[str, _Redirect] = {}
        self._wikis: dict[str, str] = {}
        self._pages: dict[int | str, Row] = {}
        self._keys: dict[str, int | str] = {}

    def add(self, answer: Mapping[str, Any]) -> None:
        query = answer.get("query") or {}
        for row in rows(query, "normalized"):
            # What is not even text in its normal form comes back as it would stand in an address.
            written = unquote(row["from"]) if flag(row, "fromencoded") else row["from"]
            self._spellings[str(written)] = str(row["to"])
        for row in rows(query, "converted"):
            self._spellings[str(row["from"])] = str(row["to"])
        for row in rows(query, "redirects"):
            self._redirects[str(row["from"])] = _Redirect(str(row["to"]), str(row.get("tofragment", "")))
        for row in rows(query, "interwiki"):
            self._wikis[str(row["title"])] = str(row.get("iw", ""))
        for row in rows(query, "pages"):
            self._add_page(row)

    def found(self, asked: str) -> Found:
        """Return the page of a title, once all answers have arrived."""
        way = self._way(asked)
        if way.circle:
            circle = " → ".join(way.titles)
            return Found(asked, absent=Absent(f"It is a redirect in a loop: {circle}.", Trouble.REJECTED))
        last = way.titles[-1]
        if (wiki := self._wikis.get(last)) is not None:
            where = f"It redirects to {last}, a page" if way.redirects else "It is a page"
            return Found(asked, absent=Absent(f"{where} of another wiki ({wiki}).", Trouble.REJECTED))
        row = self._row(last)
        fragment = way.redirects[-1].fragment if way.redirects else ""
        return Found(asked, fragment, row, _absence(row, last if way.redirects else "") if row is not None else None)

    def _add_page(self, row: Row) -> None:
        """Add what an answer says of a page. One that exists is known by its number: its title may change meanwhile."""
        title = str(row.get("title", ""))
        key = int(row["pageid"]) if "pageid" in row else title
        self._keys[title] = key
        known = self._pages.setdefault(key, {})
        for name, value in row.items():
            if isinstance(value, list):
                known.setdefault(name, []).extend(value)
            elif isinstance(value, dict):
                known.setdefault(name, {}).update(value)
            else:
                known.setdefault(name, value)

    def _row(self, title: str) -> Row | None:
        return self._pages.get(self._keys[title]) if title in self._keys else None

    def _way(self, asked: str) -> _Way:
        way = _Way([unicodedata.normalize("NFC", asked)])
        while (title := way.titles[-1]) not in self._keys:
            redirect = self._redirects.get(title)
            to = redirect.to if redirect is not None else self._spellings.get(title)
            if to is None:
                break
            if redirect is not None:
                way.redirects.append(redirect)
            seen = to in way.titles
            way.circle = seen and bool(way.redirects)
            way.titles.append(to)
            if seen:
                break
        return way


def rows(query: Mapping[str, Any], name: str) -> Iterator[Row]:
    """The rows of a list; in the older of the two formats, some lists are objects with numbers for names."""
    listed = query.get(name) or ()
    yield from listed.values() if isinstance(listed, Mapping) else listed


def flag(row: Mapping[str, Any], name: str) -> bool:
    """Tell whether a row has a mark: true or false in one format, '' or nothing in the other."""
    return row.get(name, False) not in (False, None)


def _absence(row: Row, target: str) -> Absent | None:
    """The reason why there is no page; None if there is one. `target` is the target of a redirect, if there was one."""
    leads = f"It redirects to {target}, which" if target else "It"
    if flag(row, "invalid"):
        why = str(row.get("invalidreason") or "The wiki allows no such title.")
        return Absent(f"{leads} is no title that a page could have: {why}", Trouble.REJECTED)
    if flag(row, "special"):
        return Absent(f"{leads} is a special page of the wiki, which has no text.", Trouble.REJECTED)
    if flag(row, "missing") or "pageid" not in row:
        return Absent(f"{leads} does not exist in the wiki.")
    return None
