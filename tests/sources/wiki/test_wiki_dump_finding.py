"""Titles that are spelled otherwise, lead elsewhere, or lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage

from detent.lifecycle import Trouble
from detent.sources.wiki.dump import Dump, Dumped, finding, unpacking
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.wikitext.site import Site

PAGES = [
    DumpedPage("Owl", "A bird."),
    DumpedPage("Owls", redirect="Owl#Kinds of_owl"),
    DumpedPage("Barn owls", redirect="Owls"),
    DumpedPage("Night birds", redirect="Owl"),
    DumpedPage("A", redirect="B"),
    DumpedPage("B", redirect="C#x"),
    DumpedPage("C", redirect="B"),
    DumpedPage("Self", redirect="Self"),
    DumpedPage("Lost", redirect="Nowhere"),
    DumpedPage("Elsewhere", redirect="Special:Search"),
    DumpedPage("Hidden", "secret", deleted=True),
    DumpedPage("To hidden", redirect="Hidden"),
    DumpedPage("MediaWiki:Style.css", "a {}", namespace=8, model="css"),
    DumpedPage("Gelöscht", redirect="Owl", text="#WEITERLEITUNG [[Owl#Nach_S%C3%BCden|so]]"),
    DumpedPage("Unannounced", "#redirect: [[owl#Food]]\n[[Category:X]]"),
    DumpedPage("Hash", "About #REDIRECT [[Owl]] in texts."),
    DumpedPage("C++", "A language."),
    DumpedPage("eBird", "Spelled with a small letter."),
]


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    return Dump(dumps.write(tmp_path, PAGES, per=4), tmp_path / "cache")


def _one(dump: Dump, title: str) -> Answer:
    found = dump.find([title])
    assert list(found) == [title]
    return found[title]


def _owl(dump: Dump) -> Page:
    page = _one(dump, "Owl")
    assert isinstance(page, Page)
    return page


def test_a_page_is_answered_with_all_that_is_known_of_it(dump: Dump) -> None:
    assert _owl(dump) == Page("Owl", 11, 5001, "A bird.", 7, "2024-02-29T12:00:00Z")


@pytest.mark.parametrize("asked", ["owl", " Owl_", "owl#", "Owl__", ":Owl"])
def test_a_title_spelled_otherwise_is_another_name(dump: Dump, asked: str) -> None:
    assert _one(dump, asked) == Moved("Owl", "", _owl(dump))


def test_the_section_that_was_asked_for_is_told(dump: Dump) -> None:
    assert _one(dump, "owl#Food_of owls") == Moved("Owl", "Food of owls", _owl(dump))


def test_a_title_that_is_there_as_it_is_written_is_not_spelled_otherwise(dump: Dump) -> None:
    assert isinstance(_one(dump, "eBird"), Page)


def test_the_name_of_a_namespace_may_be_written_in_any_way(dump: Dump) -> None:
    answer = _one(dump, "mediawiki: style.css")
    assert answer == Absent("'MediaWiki:Style.css' is no article: its content model is 'css'.", Trouble.REJECTED)


@pytest.mark.parametrize(
    ("asked", "fragment"),
    [
        ("Owls", "Kinds of owl"),
        ("owls", "Kinds of owl"),
        ("Barn owls", "Kinds of owl"),
        ("Night birds", ""),
        ("Gelöscht", "Nach Süden"),
        ("Unannounced", "Food"),
    ],
)
def test_redirects_are_followed_to_the_page_at_their_end(dump: Dump, asked: str, fragment: str) -> None:
    assert _one(dump, asked) == Moved("Owl", fragment, _owl(dump))


def test_a_text_that_speaks_of_redirects_is_none(dump: Dump) -> None:
    assert isinstance(_one(dump, "Hash"), Page)


@pytest.mark.parametrize(
    ("asked", "loop"), [("A", "A → B → C → B"), ("B", "B → C → B"), ("Self", "Self → Self"), ("self", "Self → Self")]
)
def test_a_redirect_loop_is_told_with_its_titles(dump: Dump, asked: str, loop: str) -> None:
    assert _one(dump, asked) == Absent(f"{asked!r} is in a redirect loop: {loop}.", Trouble.REJECTED)


def test_a_redirect_to_what_is_not_there_says_so(dump: Dump) -> None:
    assert _one(dump, "Lost") == Absent("'Lost' redirects to 'Nowhere', which is not in the dump.")
    assert _one(dump, "Elsewhere") == Absent("'Elsewhere' redirects to 'Special:Search', which is not in the dump.")


def test_a_chain_without_end_is_left(tmp_path: Path) -> None:
    pages = [DumpedPage(f"Step {number}", redirect=f"Step {number + 1}") for number in range(200)]
    dump = Dump(dumps.write(tmp_path, [*pages, DumpedPage("Step 200", "End.")]), tmp_path / "cache")
    assert _one(dump, "Step 0") == Absent("'Step 0' leads through more than 50 redirects.", Trouble.REJECTED)
    assert isinstance(_one(dump, "Step 151"), Moved)


def test_a_page_that_is_not_there_is_not_found(dump: Dump) -> None:
    assert _one(dump, "Penguin") == Absent("There is no page 'Penguin' in the dump.", Trouble.NOT_FOUND)


@pytest.mark.parametrize("asked", ["", "a|b", "[[Owl]]", "x" * 300, "\ud800", "#Food", "\x00", "..", "{{x}}", "%00"])
def test_what_no_page_can_be_called_is_rejected(dump: Dump, asked: str) -> None:
    answer = _one(dump, asked)
    assert isinstance(answer, Absent)
    assert answer.trouble is Trouble.REJECTED


def test_a_deleted_text_is_not_there(dump: Dump) -> None:
    for asked in ("Hidden", "To hidden"):
        assert _one(dump, asked) == Absent("The text of 'Hidden' was deleted from the wiki.", Trouble.NOT_FOUND)


def test_each_title_that_was_asked_for_has_one_answer(dump: Dump) -> None:
    asked = ["Owl", "owl", "Owl", "Owls", "A", "Nothing", "|"]
    assert list(dump.find(asked)) == ["Owl", "owl", "Owls", "A", "Nothing", "|"]
    assert dump.find([]) == {}


def test_redirects_of_one_batch_are_followed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [DumpedPage(f"Name {number}", redirect=f"Page {number}") for number in range(20)]
    pages += [DumpedPage(f"Page {number}", "Text.") for number in range(20)]
    dump = Dump(dumps.write(tmp_path, pages, per=20), tmp_path / "cache")
    dump.find([])
    stream, read = unpacking.stream, list[int]()

    def counted(path: Path, offset: int) -> Iterator[bytes]:
        read.append(offset)
        return stream(path, offset)

    found = dump.find(["Page 1"])
    monkeypatch.setattr(unpacking, "stream", counted)
    found = dump.find([page.title for page in pages[:20]])
    assert all(isinstance(answer, Moved) and answer.page is not None for answer in found.values())
    assert len(read) == 1


_TITLES = [f"T{number}" for number in range(8)]


@given(st.dictionaries(st.sampled_from(_TITLES), st.none() | st.sampled_from(_TITLES)))
def test_any_web_of_redirects_ends_in_an_answer(web: dict[str, str | None]) -> None:
    """The answer is the page that one comes to by going from each to the next, and none if one comes by twice."""

    def fetch(titles: object) -> dict[str, Dumped | Absent]:
        assert isinstance(titles, set | list)
        return {title: Dumped(title, 0, 1, web[title], 1, "", "wikitext", title, 2) for title in titles if title in web}

    found = finding.answers(_TITLES, Site(), fetch)
    assert list(found) == _TITLES
    for title, answer in found.items():
        passed = [title]
        while (following := web.get(passed[-1])) is not None and following not in passed:
            passed.append(following)
        if following is not None:
            assert isinstance(answer, Absent)
            assert " → ".join([*passed, following]) in answer.reason
        elif passed[-1] not in web:
            assert isinstance(answer, Absent)
            assert answer.trouble is Trouble.NOT_FOUND
        elif len(passed) == 1:
            assert isinstance(answer, Page)
        else:
            assert isinstance(answer, Moved)
            assert answer.title == passed[-1]
