"""Seeds: which addresses are those of pages, and how much of the pages is held while they are checked."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage
from tests.sources.wiki.server import WikiServer

from detent import wikitext
from detent.sources.wiki import seeding
from detent.sources.wiki.client import TITLES_AT_ONCE, Client
from detent.sources.wiki.dump import Dump
from detent.sources.wiki.dump.recent import Recent
from detent.sources.wiki.pages import Page
from detent.sources.wiki.seeding import MOST_TOLD, Seeds, Wanted
from detent.wikitext.site import LONGEST_WRITTEN

TITLES = [f"Owl {number}" for number in range(5 * TITLES_AT_ONCE)]
PAGES = {title: f"It hunts. [[{title} nest]]" for title in TITLES}


def _pages() -> int:
    return sum(type(each) is Page for each in gc.get_objects())


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pages there were at some of the moments at which one was read, beyond what other tests have left."""
    counts: list[int] = []
    calls: list[str] = []
    left = _pages()

    def counted(text: str, site: Any, page: str) -> Any:
        calls.append("")
        if len(calls) % 10 == 0:
            counts.append(_pages() - left)
        return wikitext.parse(text, site, page)

    monkeypatch.setattr(seeding, "parse", counted)
    return counts


@pytest.fixture
def wiki() -> Iterator[WikiServer]:
    with WikiServer(PAGES) as running:
        yield running


async def from_wiki(wiki: WikiServer, *titles: str) -> Seeds:
    async with Client(wiki.api, "tests") as client:
        return await seeding.from_wiki(client, Wanted(titles))


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    path = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()], per=10)
    return Dump(path, tmp_path / "cache")


async def test_no_more_pages_of_a_wiki_are_held_than_are_asked_for_at_once(wiki: WikiServer, held: list[int]) -> None:
    seeds = await from_wiki(wiki, *TITLES)
    assert list(seeds.titles) == TITLES
    assert len(held) == len(TITLES) // 10
    assert max(held) <= TITLES_AT_ONCE


def test_no_more_pages_of_a_dump_are_held_at_once(dump: Dump, held: list[int]) -> None:
    seeds = seeding.from_dump(dump, Wanted(TITLES))
    assert list(seeds.titles) == TITLES
    assert max(held) <= TITLES_AT_ONCE


def test_each_place_of_a_dump_is_read_once_in_whatever_order_titles_are_given(
    dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(Recent, "keep", lambda self, key, extract: read.append(key[1]))
    mixed = [TITLES[number * 7 % len(TITLES)].replace(" ", "_") for number in range(len(TITLES))]
    seeds = seeding.from_dump(dump, Wanted(mixed))
    assert list(seeds.titles) == [title.replace("_", " ") for title in mixed]
    assert len(read) == len(set(read)) == len(TITLES) // 10


def test_titles_are_told_in_the_order_in_which_their_pages_stand(dump: Dump) -> None:
    given = ["Lark", "owl 70", "Owl_30", "[[", "Owl 50", "owl 70"]
    assert dump.in_order(given) == ["Owl_30", "Owl 50", "owl 70", "Lark", "[["]


def test_where_no_titles_are_asked_for_nothing_is_made_of_a_dump(dump: Dump, tmp_path: Path) -> None:
    assert list(seeding.from_dump(dump, Wanted()).titles) == []
    assert not (tmp_path / "cache").exists()


def test_a_part_behind_all_that_is_asked_for_need_not_be_whole(tmp_path: Path) -> None:
    folder = dumps.write(tmp_path, [DumpedPage(title, text) for title, text in PAGES.items()], "folder", per=100)
    last = sorted(folder.glob("*.xml*.bz2"))[-1]
    last.write_bytes(last.read_bytes()[:-100])
    for index in folder.glob("*index*"):
        index.unlink()
    assert list(seeding.from_dump(Dump(folder, tmp_path / "cache"), Wanted(["Owl 1"])).titles) == ["Owl 1"]


async def test_a_fault_of_one_seed_is_told_in_its_place(wiki: WikiServer, dump: Dump) -> None:
    many = [*TITLES[:60], "Lark", *TITLES[60:]]
    for seeds in (await from_wiki(wiki, *many), seeding.from_dump(dump, Wanted(many))):
        assert list(seeds.titles) == TITLES
        [fault] = seeds.faults
        assert fault.startswith("Lark: ")


async def test_what_may_have_been_meant_is_asked_for_the_first_few_faults_only(wiki: WikiServer) -> None:
    asked: list[int] = []
    for number in (MOST_TOLD, 5 * MOST_TOLD):
        seeds = await from_wiki(wiki, *(f"Lark {each}" for each in range(number)))
        assert len(seeds.faults) == number
        asked.append(len(wiki.requests))
        wiki.requests.clear()
    fetched = 2 * 4 * MOST_TOLD / TITLES_AT_ONCE
    assert asked[1] - asked[0] <= fetched


async def test_a_fault_that_is_given_twice_is_told_once(wiki: WikiServer, dump: Dump) -> None:
    for seeds in (await from_wiki(wiki, "Lark", "Lark"), seeding.from_dump(dump, Wanted(["Lark", "Lark"]))):
        assert len(seeds.faults) == 1


@pytest.mark.parametrize("length", [300, LONGEST_WRITTEN, 100_000])
async def test_what_is_too_long_for_a_title_is_no_seed_and_nothing_is_near_it(
    wiki: WikiServer, dump: Dump, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(seeding, "small_slips", lambda title: pytest.fail("what is near it was looked for"))
    for seeds in (await from_wiki(wiki, "x" * length), seeding.from_dump(dump, Wanted(["x" * length]))):
        [fault] = seeds.faults
        assert fault.startswith(f"{'x' * 100}…: ")


@pytest.mark.parametrize(
    "address", [lambda _: "http://owl.example/wiki/Owl_7", lambda wiki: f"http://{wiki.host}/wiki/Owl_7"]
)
async def test_an_address_is_one_of_the_wiki_at_the_host_of_its_pages_and_at_that_of_its_api(
    wiki: WikiServer, address: Callable[[WikiServer], str]
) -> None:
    seeds = await from_wiki(wiki, address(wiki))
    assert (list(seeds.titles), seeds.faults) == (["Owl 7"], [])


async def test_an_address_of_another_host_is_told_as_none_of_the_pages(wiki: WikiServer) -> None:
    seeds = await from_wiki(wiki, "http://lark.example/wiki/Owl_7")
    told = "http://lark.example/wiki/Owl_7 is no address of a page of owl.example. A seed is a title, such as 'Owl 7'."
    assert (list(seeds.titles), seeds.faults) == ([], [told])
