"""The pages of a wiki that a test has made up, and what the API of a MediaWiki says of them, in its real shapes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from urllib.parse import quote

Parameters = dict[str, str]
Row = dict[str, Any]

CANONICAL = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    4: "Project",
    6: "File",
    10: "Template",
    14: "Category",
}

_FORBIDDEN = re.compile(r"[<>\[\]{}|\x00-\x1f]|%[0-9A-Fa-f]{2}")
_REDIRECT = re.compile(r"\s*#REDIRECT\s*\[\[([^\]|#]*)(?:#([^\]|]*))?(?:\|[^\]]*)?\]\]", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\]|:]+):([^\]|]+)(?:\|[^\]]*)?\]\]")


@dataclass
class Stored:
    """A page as the wiki keeps it."""

    id: int
    title: str
    namespace: int
    text: str
    revision: int
    edited: str


class Invalid(Exception):
    """No page could have this title."""


class Refused(Exception):
    """The API tells an error of this name."""


@dataclass
class Wiki:
    """The pages of a wiki and its answers. `old` makes it one that knows neither slots nor the second format."""

    pages: dict[str, Stored] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=lambda: dict(CANONICAL))
    aliases: dict[str, int] = field(default_factory=dict)
    wikis: frozenset[str] = frozenset({"de", "fr", "wikt"})
    variants: dict[str, str] = field(default_factory=dict)
    marks_disambiguation: bool = True
    old: bool = False
    titles_at_once: int = 50
    truncates: bool = False
    bytes_per_answer: int = 8_000_000
    rows_per_answer: int = 500
    language: str = "en"
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def edit(self, title: str, text: str) -> int:
        """Write a page, or write it anew; its revision."""
        text_of, namespace, _ = self.spelled(title)
        revision = 1000 + next(self._numbers)
        page = self.pages.get(text_of) or Stored(next(self._numbers), text_of, namespace, "", 0, "")
        edited = f"2026-01-{revision // 1440 % 28 + 1:02}T{revision // 60 % 24:02}:{revision % 60:02}:00Z"
        self.pages[text_of] = replace(page, text=text, revision=revision, edited=edited)
        return revision

    def move(self, title: str, to: str, *, redirect: bool = True) -> None:
        page = self.pages.pop(title)
        text_of, namespace, _ = self.spelled(to)
        self.pages[text_of] = replace(page, title=text_of, namespace=namespace)
        self.edit(to, page.text)
        if redirect:
            self.edit(title, f"#REDIRECT [[{text_of}]]")

    def delete(self, title: str) -> None:
        del self.pages[title]

    def spelled(self, written: str) -> tuple[str, int, str]:
        """A title as the wiki writes it, its namespace, and the other wiki that it belongs to."""
        text = " ".join(written.replace("_", " ").partition("#")[0].split())
        prefix, colon, rest = (part.strip() for part in text.partition(":"))
        if colon and prefix.lower() in self.wikis:
            return f"{prefix.lower()}:{rest}", 0, prefix.lower()
        number = self._namespaces().get(prefix.lower()) if colon else None
        name = text if number is None else rest
        if (wrong := _FORBIDDEN.search(name)) is not None or not name:
            raise Invalid(f'There is "{wrong[0]}" in it.' if wrong else "It is empty.")
        name = name[0].upper() + name[1:]
        return f"{self.names[number]}:{name}" if number else name, number or 0, ""

    def _namespaces(self) -> dict[str, int]:
        canonical = {name: number for number, name in CANONICAL.items()}
        own = {name: number for number, name in self.names.items()}
        return {name.lower(): number for name, number in (canonical | own | self.aliases).items() if name}

    def answer(self, asked: Parameters) -> Row:
        """What the API says to a request, in the format that it asks for."""
        try:
            answer = self._answer(asked)
        except Refused as refused:
            answer = error(str(refused), "Not so.")
        if self.old:
            unknown = [name for name in ("formatversion", "rvslots") if name in asked]
            answer.setdefault("warnings", {})["main"] = {"warnings": f"Unrecognized parameters: {', '.join(unknown)}"}
        return answer if asked.get("formatversion") == "2" and not self.old else _older(answer)

    def _answer(self, asked: Parameters) -> Row:
        if asked.get("action") != "query":
            raise Refused("badvalue")
        answer: Row = {"batchcomplete": True}
        if asked.get("meta") == "siteinfo":
            answer["query"] = self._site(asked["siprop"].split("|"))
        for name in filter(None, asked.get("list", "").split("|")):
            found, more = self._list(name, asked)
            answer.setdefault("query", {})[name] = found
            if more:
                answer["continue"] = {**more, "continue": "-||"}
        if "titles" in asked:
            self._answer_titles(asked["titles"].split("|"), asked, answer)
        elif "generator" in asked:
            own = {name[1:]: value for name, value in asked.items() if name.startswith("g")}
            found, more = self._list(asked["generator"], own)
            self._answer_titles([row["title"] for row in found], asked, answer)
            if more and "continue" not in answer:
                answer["continue"] = {f"g{name}": value for name, value in more.items()} | {"continue": "gcmcontinue||"}
        return answer

    def _site(self, parts: list[str]) -> Row:
        told: Row = {
            "general": {
                "sitename": "Here",
                "base": "http://owl.example/wiki/Main_Page",
                "server": "http://owl.example",
                "articlepath": "/wiki/$1",
                "case": "first-letter",
                "lang": self.language,
            },
            "namespaces": {
                str(number): {"id": number, "case": "first-letter", "name": name, "canonical": CANONICAL[number]}
                for number, name in self.names.items()
            },
            "namespacealiases": [{"id": number, "alias": name} for name, number in self.aliases.items()],
            "interwikimap": [
                {"prefix": prefix, "url": f"https://{prefix}.example/$1"} for prefix in sorted(self.wikis)
            ],
            "magicwords": [{"name": "redirect", "aliases": ["#REDIRECT"], "case-sensitive": False}],
            "extensions": [{"type": "other", "name": "Disambiguator"}] if self.marks_disambiguation else [],
        }
        return {part: told[part] for part in parts}

    def _list(self, name: str, asked: Parameters) -> tuple[list[Row], Row]:
        """The rows of a list that are told at once, and where to go on."""
        if name == "allcategories":
            return self._used(asked), {}
        prefix, found = {
            "search": ("sr", self._searched),
            "prefixsearch": ("ps", self._beginning),
            "categorymembers": ("cm", self._members),
        }[name]
        rows = [{"ns": page.namespace, "title": page.title, "pageid": page.id} for page in found(asked)]
        limit = asked.get(f"{prefix}limit", "10")
        many = min(self.rows_per_answer, 500 if limit == "max" else int(limit))
        key = f"{prefix}continue" if prefix == "cm" else f"{prefix}offset"
        start = int(asked.get(key, "0").rpartition("|")[2])
        following = f"page|{start + many}" if prefix == "cm" else start + many
        return rows[start : start + many], {key: following} if start + many < len(rows) else {}

    def _used(self, asked: Parameters) -> list[Row]:
        """The categories that pages are in, whether they have a page of their own or not."""
        used = Counter(category for page in self.pages.values() for category in self.categories(page))
        names = {category.partition(":")[2]: count for category, count in sorted(used.items())}
        return [
            {"category": name, "size": count, "pages": count, "files": 0, "subcats": 0}
            for name, count in names.items()
            if name.startswith(asked["acprefix"])
        ][: int(asked["aclimit"])]

    def _searched(self, asked: Parameters) -> list[Stored]:
        words = asked["srsearch"].lower().split()
        found = [
            page for page in self._articles() if all(word in f"{page.title} {page.text}".lower() for word in words)
        ]
        return sorted(found, key=lambda page: asked["srsearch"].lower() not in page.title.lower())

    def _beginning(self, asked: Parameters) -> list[Stored]:
        return [page for page in self._articles() if page.title.lower().startswith(asked["pssearch"].lower())]

    def _articles(self) -> list[Stored]:
        found = [page for page in self.pages.values() if page.namespace == 0 and not _REDIRECT.match(page.text)]
        return sorted(found, key=lambda page: page.title)

    def _members(self, asked: Parameters) -> list[Stored]:
        category, namespace, _ = self.spelled(asked["cmtitle"])
        if namespace != 14:
            raise Refused("invalidcategory")
        types = asked.get("cmtype", "page|subcat|file").split("|")
        found = [page for page in self.pages.values() if category in self.categories(page)]
        return sorted(
            (page for page in found if {14: "subcat", 6: "file"}.get(page.namespace, "page") in types),
            key=lambda page: (page.namespace, page.title),
        )

    def categories(self, page: Stored) -> list[str]:
        """The titles of a page's categories."""
        links = [self.spelled(f"{match[1]}:{match[2]}") for match in _LINK.finditer(page.text)]
        return list(dict.fromkeys(title for title, namespace, _ in links if namespace == 14))

    def _answer_titles(self, titles: list[str], asked: Parameters, answer: Row) -> None:
        if len(titles) > self.titles_at_once:
            if not self.truncates:
                raise Refused("toomanyvalues")
            answer["warnings"] = {"query": {"warnings": f"Too many values, the limit is {self.titles_at_once}."}}
        query, pages = self._resolved(titles[: self.titles_at_once], asked)
        more = self._add_properties(pages, asked)
        if pages:
            query["pages"] = list(pages.values())
        answer["query"] = {name: rows for name, rows in query.items() if rows}
        if more:
            del answer["batchcomplete"]
            answer["continue"] = more

    def _resolved(self, titles: list[str], asked: Parameters) -> tuple[Row, dict[str, Row]]:
        """Where titles lead: the steps on the way, and the pages, each with its title and number only."""
        query: Row = {"normalized": [], "converted": [], "redirects": [], "interwiki": []}
        pages: dict[str, Row] = {}
        for title in dict.fromkeys(titles):
            try:
                text, namespace, wiki = self.spelled(title)
            except Invalid as invalid:
                pages[title] = {"title": title, "invalidreason": str(invalid), "invalid": True}
                continue
            if text != title:
                query["normalized"].append({"fromencoded": False, "from": title, "to": text})
            if text not in self.pages and "converttitles" in asked and text in self.variants:
                query["converted"].append({"from": text, "to": self.variants[text]})
                text = self.variants[text]
            if wiki:
                query["interwiki"].append({"title": text, "iw": wiki})
            elif "redirects" not in asked or not self._followed(text, query, pages):
                pages[text] = self._bare(text, namespace)
        return query, pages

    def _followed(self, title: str, query: Row, pages: dict[str, Row]) -> bool:
        """Follow a redirect to where it ends, which for one in a loop is nowhere; False if it is none."""
        known = {row["from"] for row in query["redirects"]}
        redirect = _REDIRECT.match(self.pages[title].text) if title in self.pages else None
        if redirect is None:
            return False
        while redirect is not None and title not in known:
            known.add(title)
            to, namespace, wiki = self.spelled(redirect[1])
            fragment = {"tofragment": redirect[2]} if redirect[2] else {}
            query["redirects"].append({"from": title, "to": to, **fragment, **({"tointerwiki": wiki} if wiki else {})})
            title = to
            redirect = _REDIRECT.match(self.pages[title].text) if title in self.pages else None
            if wiki:
                query["interwiki"].append({"title": to, "iw": wiki})
            elif redirect is None:
                pages[title] = self._bare(title, namespace)
        return True

    def _bare(self, title: str, namespace: int) -> Row:
        if namespace < 0:
            return {"ns": namespace, "title": title, "special": True}
        if title not in self.pages:
            return {"ns": namespace, "title": title, "missing": True}
        return {"pageid": self.pages[title].id, "ns": namespace, "title": title}

    def _add_properties(self, pages: dict[str, Row], asked: Parameters) -> Row:
        """Add what is asked for to the pages, and say how to go on with what does not fit in. What an earlier answer
        had is not told again."""
        finished = asked.get("continue", "").partition("||")[2].split("|")
        there = sorted((self.pages[title] for title, row in pages.items() if "pageid" in row), key=lambda page: page.id)
        more: Row = {}
        for name in asked.get("prop", "").split("|"):
            if name in finished:
                continue
            tell: Callable[[list[Stored], dict[str, Row], Parameters], Row] = getattr(
                self, f"_tell_{name}", _tell_nothing
            )
            following = tell(there, pages, asked)
            finished += [] if following else [name]
            more |= following
        return more | {"continue": "||" + "|".join(filter(None, finished))} if more else {}

    def _tell_info(self, there: list[Stored], pages: dict[str, Row], asked: Parameters) -> Row:
        for row in pages.values():
            row.update({"contentmodel": "wikitext", "pagelanguage": "en"} if "ns" in row else {})
        for page in there:
            length = len(page.text.encode())
            pages[page.title] |= {"touched": page.edited, "lastrevid": page.revision, "length": length}
            if _REDIRECT.match(page.text):
                pages[page.title]["redirect"] = True
        return {}

    def _tell_pageprops(self, there: list[Stored], pages: dict[str, Row], asked: Parameters) -> Row:
        for page in there:
            if self.marks_disambiguation and "__DISAMBIG__" in page.text:
                pages[page.title]["pageprops"] = {"disambiguation": ""}
        return {}

    def _tell_revisions(self, there: list[Stored], pages: dict[str, Row], asked: Parameters) -> Row:
        start, told = int(asked.get("rvcontinue", "0").partition("|")[0]), 0
        for page in there:
            size = len(page.text.encode()) if "content" in asked["rvprop"] else 0
            if page.id < start:
                continue
            if told and told + size > self.bytes_per_answer:
                return {"rvcontinue": f"{page.id}|{page.revision}"}
            told += size
            pages[page.title]["revisions"] = [self._revision(page, asked)]
        return {}

    def _revision(self, page: Stored, asked: Parameters) -> Row:
        parts = asked["rvprop"].split("|")
        told: Row = {"revid": page.revision, "parentid": 0} if "ids" in parts else {}
        told |= {"timestamp": page.edited} if "timestamp" in parts else {}
        told |= {"size": len(page.text.encode())} if "size" in parts else {}
        if "content" in parts:
            text = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": page.text}
            told |= {"slots": {"main": text}} if "rvslots" in asked and not self.old else text
        return told

    def _tell_categories(self, there: list[Stored], pages: dict[str, Row], asked: Parameters) -> Row:
        wanted = [(page, title) for page in there for title in self.categories(page) if self._shown(title, asked)]
        start = int(asked.get("clcontinue", "0|").partition("|")[0])
        limit = min(self.rows_per_answer, 500 if asked.get("cllimit") == "max" else int(asked.get("cllimit", "10")))
        for page, title in wanted[start : start + limit]:
            row: Row = {"ns": 14, "title": title}
            row |= {"hidden": self._hidden(title)} if "hidden" in asked.get("clprop", "") else {}
            pages[page.title].setdefault("categories", []).append(row)
        return {"clcontinue": f"{start + limit}|{quote(wanted[start][1])}"} if start + limit < len(wanted) else {}

    def _shown(self, category: str, asked: Parameters) -> bool:
        shows = asked.get("clshow")
        return shows is None or self._hidden(category) == (shows == "hidden")

    def _hidden(self, category: str) -> bool:
        return category in self.pages and "__HIDDENCAT__" in self.pages[category].text


def error(code: str, info: str, **more: Any) -> Row:
    """An error as the API tells it."""
    return {"error": {"code": code, "info": info, **more, "docref": "See the manual."}, "servedby": "here"}


def _tell_nothing(there: list[Stored], pages: dict[str, Row], asked: Parameters) -> Row:
    return {}


def _older(value: Any, name: str = "") -> Any:
    """What the second format says, said in the first."""
    if isinstance(value, list) and name == "pages":
        gone = count(-1, -1)
        return {str(row.get("pageid") or next(gone)): _older(row) for row in value}
    if isinstance(value, list):
        return [_older(each) for each in value]
    if not isinstance(value, dict):
        return "" if value is True else value
    renamed = {"content": "*", "alias": "*", "warnings": "*" if name else "warnings"}
    if name == "namespaces" or "canonical" in value:
        renamed["name"] = "*"
    return {renamed.get(key, key): _older(each, key) for key, each in value.items() if each is not False}
