"""From an article to nodes: the article with its links and categories, its sections, and the passages of long ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detent.knowledge import Child, Mention, Node, Reference
from detent.knowledge.keys import Unique
from detent.knowledge.splitting import split
from detent.sources.wiki.following import followed, is_see_also
from detent.sources.wiki.pages import Page
from detent.wikitext.article import Article, Section

ARTICLE, SECTION, PASSAGE, CATEGORY = "Article", "Section", "Passage", "Category"
LINKS_TO, HAS_SECTION, IN_CATEGORY = "LINKS_TO", "HAS_SECTION", "IN_CATEGORY"

VERSION = 4
"""Version of the nodes; raise it whenever the same page gives different nodes."""

_LONGEST_HEADING = 200
_OF_CATEGORIES = {"link_type": "category"}


def stamp(revision: str | int | None, passage_size: int) -> str:
    """A stamp that is equal only for the same page, read in the same way."""
    return f"{revision} {VERSION} {passage_size}"


def article_node(page: Page, article: Article, passage_size: int, address: str | None = None) -> Node:
    properties: dict[str, Any] = {
        "page_id": page.id,
        "revision_id": page.revision,
        "date": page.edited,
        "url": address,
        "length": page.length,
        "categories": visible(page, article),
        "hidden_categories": [name for name in article.categories if name in page.hidden],
        "infobox": dict(article.infobox),
    }
    return Node(page.title, "", {k: v for k, v in properties.items() if v}, stamp(page.revision, passage_size))


def visible(page: Page, article: Article) -> list[str]:
    """The categories that readers are shown."""
    return [name for name in article.categories if name not in page.hidden]


def links(title: str, article: Article, categories: Sequence[str]) -> list[Reference]:
    """The references of the article: other articles in the order of their links, and its categories."""
    about = [_of_links_in(section) for section in article.sections]
    leading = followed(article, title)
    found = [Reference(LINKS_TO, ARTICLE, link.title.text, None, about[link.section]) for link in leading]
    return [*found, *(Reference(IN_CATEGORY, CATEGORY, name, None, _OF_CATEGORIES) for name in categories)]


def _of_links_in(section: Section) -> dict[str, str]:
    """The properties of all links in a section. They share one object, so that it is checked and written once."""
    link_type = "see_also" if is_see_also(section.title) else "internal"
    return {"link_type": link_type, "section": section.title} if section.title else {"link_type": link_type}


def category(name: str) -> Mention:
    return Mention(CATEGORY, name, Node(name))


def sections(page: Page, article: Article, passage_size: int) -> list[Child]:
    """The sections, the lead first, each with what is too long for it."""
    unique = Unique()
    keys = _keys(page.title, article.sections, unique)
    inside: dict[int, list[Reference]] = {}
    for number, section in enumerate(article.sections):
        if section.parent:
            inside.setdefault(section.parent, []).append(Reference(HAS_SECTION, SECTION, keys[number]))
    found: list[Child] = []
    for number, section in enumerate(article.sections):
        title = f"{page.title}: {section.title}" if section.title else page.title
        about = {"level": section.level, "position": number, **({"heading": section.title} if section.title else {})}
        pieces = [piece.text for piece in split(section.text, passage_size)]
        rest = list(_passages(keys[number], title, about, pieces[1:], unique))
        within = [*inside.get(number, ()), *(Reference(HAS_SECTION, PASSAGE, each.key) for each in rest)]
        edge = None if section.parent else HAS_SECTION
        found += [Child(SECTION, keys[number], Node(title, pieces[0] if pieces else "", about), within, edge), *rest]
    return found


def _keys(title: str, all_sections: Sequence[Section], unique: Unique) -> list[str]:
    """The key of each section: the article's, and its heading; of headings that are alike, all but the first say what
    they are in."""
    keys: list[str] = []
    for section in all_sections:
        heading = section.title[:_LONGEST_HEADING]
        above = keys[section.parent] if section.parent else ""
        keys.append(unique.key(f"{title}#{heading}", f"{above[:1000]}/{heading}" if above else ""))
    return keys


def _passages(key: str, title: str, about: Mapping[str, Any], pieces: Sequence[str], unique: Unique) -> Iterator[Child]:
    for piece in pieces:
        name = unique.key(f"{key}~{hashlib.sha256(piece.encode()).hexdigest()[:12]}")
        yield Child(PASSAGE, name, Node(title, piece, about), edge=None)
