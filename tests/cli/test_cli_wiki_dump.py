"""`detent add wiki --dump`: a dump, its successors, and what is made of them on the way."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

Result = subprocess.CompletedProcess[str]

OWL = DumpedPage("Owl", "It hunts [[mouse|mice]].", revision=1)
MOUSE = DumpedPage("Mouse", "It eats grain.")


@pytest.fixture
def dump(plain: Path, tmp_path: Path) -> Path:
    return dumps.write(tmp_path, [OWL, MOUSE], "bz2")


@pytest.fixture
def newer(plain: Path, tmp_path: Path) -> Path:
    """Mouse is gone, Zebra is new, and Owl has changed."""
    changed = DumpedPage("Owl", "It hunts at [[night]].", revision=9)
    (tmp_path / "elsewhere").mkdir()
    written = dumps.write(tmp_path / "elsewhere", [changed, DumpedPage("Zebra", "It has stripes.")], "bz2")
    return written.rename(tmp_path / "newer-20240301-pages-articles.xml.bz2")


def test_a_newer_dump_of_the_wiki_is_taken_by_a_refresh(
    said: Callable[..., Result], ran: Callable[..., Result], document: Callable[..., Any], dump: Path, newer: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump))
    assert ran("run").returncode == 0
    added = said("add", "wiki", "birds", "--dump", str(newer))
    assert added.stdout.endswith("`detent run --refresh` takes what is new in it, has changed, or is gone.\n")
    ran("run", "--refresh")
    listed = document("items", "--label", "Article", "--state", "processed")
    assert {item["key"] for item in listed["items"]} == {"Owl", "Zebra"}
    assert "at night" in ran("search", "--mode", "text", "hunts").stdout


def test_a_newer_dump_is_refreshed_from_also_where_the_target_is_reached(
    said: Callable[..., Result], ran: Callable[..., Result], dump: Path, newer: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump), "--target", "1")
    assert ran("run").returncode == 0
    added = said("add", "wiki", "birds", "--dump", str(newer))
    assert "1 article is loaded already: no other is until --target is raised." in added.stdout
    assert added.stdout.endswith("`detent run --refresh` takes what is new in it, has changed, or is gone.\n")


def test_a_dump_of_another_wiki_is_refused(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path, tmp_path: Path
) -> None:
    other = dumps.write(tmp_path, [OWL], "bz2", wiki=dumps.Wiki(name="otherwiki"))
    said("add", "wiki", "birds", "--dump", str(dump))
    told = said("add", "wiki", "birds", "--dump", str(other))
    assert told.returncode == 2
    assert f"birds is the wiki owlwiki, and {other} is a dump of otherwiki. Choose another name." in told.stderr
    [source] = document("sources")["sources"]
    assert source["settings"]["dump"] == str(dump)
    dump.unlink()
    assert said("add", "wiki", "birds", "--dump", str(other)).returncode == 0


def test_what_is_all_of_a_dump_does_not_become_less_by_a_seed(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump), "--target", "1")
    told = said("add", "wiki", "birds", "--add-seed", "Owl")
    assert (told.returncode, told.stderr) == (
        2,
        f"birds is all of the dump {dump}, and with seeds it would be less. Choose another name.\n",
    )
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == []


@pytest.mark.parametrize(("option", "number"), [("--depth", "1"), ("--depth", "3"), ("--max-links", "5")])
def test_how_far_links_are_followed_is_not_said_of_all_of_a_dump(
    said: Callable[..., Result], dump: Path, option: str, number: str
) -> None:
    of_all = f"{option} is for a graph that begins with seeds. birds is all of a dump."
    assert of_all in said("add", "wiki", "birds", "--dump", str(dump), option, number).stderr
    said("add", "wiki", "birds", "--dump", str(dump))
    told = said("add", "wiki", "birds", option, number)
    assert told.returncode == 2
    assert of_all in told.stderr


def test_the_target_is_told_of_all_of_a_dump_too(said: Callable[..., Result], dump: Path) -> None:
    told = said("add", "wiki", "birds", "--dump", str(dump), "--target", "1").stdout
    assert told.startswith(f"birds is all of the dump {dump}, 1 article at most.")


def test_what_was_made_of_a_dump_goes_with_the_last_source_that_reads_it(
    said: Callable[..., Result], ran: Callable[..., Result], plain: Path, dump: Path, newer: Path
) -> None:
    cache = plain / ".detent" / "wiki"

    def made() -> set[str]:
        return {each.name.partition("-pages")[0] for each in cache.iterdir()}

    for name, path in (("one", dump), ("two", dump), ("three", newer)):
        said("add", "wiki", name, "--dump", str(path), "--seed", "Owl")
    ran("run")
    assert made() == {"owlwiki-20240301", "newer-20240301"}
    said("remove", "one", "--yes")
    assert made() == {"owlwiki-20240301", "newer-20240301"}
    said("add", "wiki", "two", "--dump", str(newer))
    assert made() == {"newer-20240301"}
    said("remove", "two", "--yes")
    said("remove", "three", "--yes")
    assert made() == set()


def test_what_was_made_of_a_dump_stays_while_another_source_waits_for_it(
    said: Callable[..., Result], ran: Callable[..., Result], plain: Path, dump: Path, newer: Path
) -> None:
    said("add", "wiki", "one", "--dump", str(dump), "--seed", "Owl")
    said("add", "wiki", "two", "--dump", str(dump), "--seed", "Mouse")
    ran("run")
    dump.unlink()
    before = sorted((plain / ".detent" / "wiki").iterdir())
    said("remove", "one", "--yes")
    assert sorted((plain / ".detent" / "wiki").iterdir()) == before
    said("remove", "two", "--yes")
    assert list((plain / ".detent" / "wiki").iterdir()) == []


def test_nothing_else_is_removed_with_what_was_made_of_a_dump(
    said: Callable[..., Result], ran: Callable[..., Result], plain: Path, dump: Path
) -> None:
    cache = plain / ".detent" / "wiki"
    said("add", "wiki", "birds", "--dump", str(dump), "--seed", "Owl")
    ran("run")
    others = [
        cache / f"{dump.name}-1-2.xml.abcdefgh.half",
        cache / f"{dump.name}-old.xml-1-2.xml",
        cache / "other.xml.bz2-1-2.pages.npy",
        cache / "notes",
    ]
    for other in others:
        other.touch()
    (cache / f"{dump.name}-1-2.xml").touch()
    with others[0].open("rb") as being_made:
        fcntl.flock(being_made, fcntl.LOCK_EX)
        said("remove", "birds", "--yes")
    assert sorted(cache.iterdir()) == sorted(others)


def test_a_removal_that_goes_on_removes_what_was_made_too(
    said: Callable[..., Result], ran: Callable[..., Result], database: str, plain: Path, dump: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump))
    ran("run")
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE detent.source SET removed_at = now()")
    assert said("remove", "birds", "--yes").returncode == 0
    assert list((plain / ".detent" / "wiki").iterdir()) == []


def test_a_seed_of_a_dump_may_be_the_address_of_its_page(
    said: Callable[..., Result], document: Callable[..., Any], dump: Path
) -> None:
    said("add", "wiki", "birds", "--dump", str(dump), "--seed", "http://owl.example/wiki/Owl")
    [source] = document("sources")["sources"]
    assert source["settings"]["seeds"] == ["Owl"]
