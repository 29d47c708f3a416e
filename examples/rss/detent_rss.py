"""RSS feeds as a source of Detent: each entry of a feed is an item, found by its title and text."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
from lxml import etree, html

from detent import Done, Failed, Handler, Item, NewItem, Node, Option, Source, SourceType, Trouble

Entries = dict[str, dict[str, str]]


def make(name: str, settings: Mapping[str, Any]) -> Source:
    def discover() -> Iterator[NewItem]:
        for key, entry in list(fetch(settings).items())[: settings["most"]]:
            yield NewItem(key, "Entry", content_hash=hashlib.sha256(repr(entry).encode()).hexdigest())

    def load(items: Sequence[Item]) -> list[Done | Failed]:
        entries = fetch(settings)
        return [loaded(item.key, entries.get(item.key)) for item in items]

    return Source(name, {"Entry": "simple"}, [Handler("working", load, batch=True)], discover)


def fetch(settings: Mapping[str, Any]) -> Entries:
    """The entries of the feed, each by its key: the texts of its elements."""
    headers = {"Authorization": f"Bearer {settings['token']}"} if "token" in settings else {}
    answer = httpx.get(settings["url"], headers=headers, follow_redirects=True, timeout=30).raise_for_status()
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    found = etree.fromstring(answer.content, parser).iter("item")
    entries = [{str(each.tag): (each.text or "").strip() for each in item.iterchildren("*")} for item in found]
    return {key: entry for entry in entries if (key := entry.get("guid") or entry.get("link", ""))}


def loaded(key: str, entry: dict[str, str] | None) -> Done | Failed:
    if entry is None:
        return Failed("The feed no longer has this entry.", Trouble.NOT_FOUND)
    title, link = entry.get("title", key), entry.get("link", "")
    text = html.fromstring(f"<div>{entry.get('description', '')}</div>").text_content()
    return Done(Node(title, text, {"url": link}))


RSS = SourceType(
    "rss",
    "Add an RSS feed: its entries.",
    make,
    [
        Option("url", "The feed's address.", positional=True, pattern=r"https?://\S+"),
        Option("most", "Take this many of its first entries.", int, default=100, at_least=1),
        Option("token", "Sent as `Authorization: Bearer …`, for feeds that want one.", secret=True),
    ],
    examples=("detent add rss news https://example.org/feed.xml --most 20",),
)
