"""Where titles lead, read off answers that come in pieces and in either format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki.contents import Wiki

from detent.lifecycle import Trouble
from detent.sources.wiki.client.answers import Revision, read_answer, read_revision
from detent.sources.wiki.client.gathering import Gathered
from detent.sources.wiki.pages import Absent, Answer, Moved, Page

NAMES = ["Ant", "Bee", "Cow", "Doe", "Eel", "Fly"]
QUESTION = {
    "action": "query",
    "redirects": "1",
    "prop": "revisions|info|pageprops|categories",
    "rvprop": "ids|timestamp|content|size",
    "rvslots": "main",
    "clprop": "hidden",
    "cllimit": "max",
}

texts = st.one_of(
    st.sampled_from([f"#REDIRECT [[{name}]]" for name in NAMES]),
    st.lists(st.sampled_from(["word", "__DISAMBIG__", "[[Category:Seen]]", "[[Category:Unseen]]"])).map(" ".join),
)
contents = st.dictionaries(st.sampled_from(NAMES), texts)
spelled = st.sampled_from([*NAMES, *map(str.lower, NAMES), "de:Ant", "A<b", "Special:Ants"])


def ask(wiki: Wiki, titles: Sequence[str], version: str = "2") -> dict[str, Answer | None]:
    """Ask as a client does: until nothing more is to come."""
    gathered, more = Gathered(), dict[str, Any]()
    while True:
        answer = wiki.answer({**QUESTION, "formatversion": version, "titles": "|".join(titles), **more})
        gathered.add(answer)
        if not (more := answer.get("continue", {})):
            assert "batchcomplete" in answer
            return {title: read_answer(gathered.found(title)) for title in titles}
        assert "batchcomplete" not in answer


def made(pages: dict[str, str], **details: Any) -> Wiki:
    wiki = Wiki(**details)
    for title, text in {**pages, "Category:Unseen": "__HIDDENCAT__"}.items():
        wiki.edit(title, text)
    return wiki


def found(*answers: dict[str, Any], asked: str = "A") -> Answer | None:
    gathered = Gathered()
    for answer in answers:
        gathered.add(answer)
    return read_answer(gathered.found(asked))


def page(**more: Any) -> dict[str, Any]:
    return {"pageid": 7, "ns": 0, "title": "A", **more}


REVISION = {"revid": 3, "timestamp": "2026-01-01T00:00:00Z", "slots": {"main": {"content": "Text."}}}


@given(contents, st.lists(spelled, min_size=1), st.integers(1, 60), st.integers(1, 4), st.booleans())
def test_how_an_answer_is_cut_and_written_makes_no_difference(
    pages: dict[str, str], titles: list[str], size: int, rows: int, old: bool
) -> None:
    whole = ask(made(pages), titles)
    assert ask(made(pages, bytes_per_answer=size, rows_per_answer=rows, old=old), titles) == whole
    assert ask(made(pages, bytes_per_answer=size, rows_per_answer=rows), titles, "1") == whole


@given(contents, st.lists(spelled, min_size=1, unique=True))
def test_every_title_has_the_answer_that_it_has_alone(pages: dict[str, str], titles: list[str]) -> None:
    wiki = made(pages)
    together = ask(wiki, titles)
    assert None not in together.values()
    for title in titles:
        assert ask(wiki, [title])[title] == together[title]


@given(contents, st.sampled_from(NAMES))
def test_a_title_leads_where_its_redirects_lead(pages: dict[str, str], title: str) -> None:
    passed, at = [title], title
    while pages.get(at, "").startswith("#REDIRECT"):
        at = pages[at][-5:-2]
        passed.append(at)
        if at in passed[:-1]:
            break
    answer = ask(made(pages), [title])[title]
    if at in passed[:-1]:
        assert isinstance(answer, Absent)
        assert answer.trouble is Trouble.REJECTED
        assert " → ".join(passed) in answer.reason
    elif at not in pages:
        assert isinstance(answer, Absent)
        assert answer.trouble is Trouble.NOT_FOUND
    else:
        ends = answer.page if isinstance(answer, Moved) else answer
        assert isinstance(ends, Page)
        assert (ends.title, ends.text, isinstance(answer, Moved)) == (at, pages[at], at != title)
        assert ends.hidden == ({"Unseen"} if "Unseen" in pages[at] else frozenset())


def test_a_title_that_comes_back_as_it_stands_in_an_address_is_recognised() -> None:
    normalized = [
        {"fromencoded": True, "from": "%EF%BB%BB_x", "to": "\u0644\u0627_x"},
        {"fromencoded": False, "from": "\u0644\u0627_x", "to": "\u0644\u0627 x"},
    ]
    pages = [page(title="\u0644\u0627 x", revisions=[REVISION])]
    answer = found({"query": {"normalized": normalized, "pages": pages}}, asked="\ufefb_x")
    assert isinstance(answer, Moved)
    assert answer.title == "\u0644\u0627 x"


def test_a_redirect_to_a_title_in_another_variant_is_followed() -> None:
    query = {
        "redirects": [{"from": "A", "to": "B"}],
        "converted": [{"from": "B", "to": "C"}],
        "pages": [page(title="C", revisions=[REVISION])],
    }
    answer = found({"query": query})
    assert isinstance(answer, Moved)
    assert answer.title == "C"


def test_of_several_redirects_the_last_names_the_section() -> None:
    pages = [page(title="C", revisions=[REVISION])]
    redirects = [{"from": "A", "to": "B", "tofragment": "One"}, {"from": "B", "to": "C", "tofragment": "Two"}]
    answer = found({"query": {"redirects": redirects, "pages": pages}})
    assert isinstance(answer, Moved)
    assert answer.fragment == "Two"
    del redirects[1]["tofragment"]
    answer = found({"query": {"redirects": redirects, "pages": pages}})
    assert isinstance(answer, Moved)
    assert answer.fragment == ""


def test_a_spelling_that_leads_to_itself_is_no_redirect() -> None:
    assert found({"query": {"normalized": [{"from": "A", "to": "A"}]}}) is None


def test_a_page_that_moves_between_two_answers_is_still_one() -> None:
    first = {"query": {"pages": [page(revisions=[REVISION])]}}
    then = {"query": {"pages": [page(title="B", categories=[{"title": "Category:X", "hidden": True}])]}}
    answer = found(first, then)
    assert isinstance(answer, Page)
    assert (answer.title, answer.hidden) == ("A", frozenset({"X"}))


def test_a_page_that_is_edited_between_two_answers_has_the_revision_of_its_text() -> None:
    first = {"query": {"pages": [page(lastrevid=2, pageprops={"disambiguation": ""})]}}
    answer = found(first, {"query": {"pages": [page(revisions=[REVISION], pageprops={"other": ""})]}})
    assert isinstance(answer, Page)
    assert (answer.revision, answer.disambiguation) == (3, True)


def test_a_page_that_is_deleted_between_two_answers_is_missing() -> None:
    gone = {"query": {"pages": [{"ns": 0, "title": "A", "missing": True}]}}
    answer = found({"query": {"pages": [page(revisions=[REVISION])]}}, gone)
    assert isinstance(answer, Absent)
    assert answer.trouble is Trouble.NOT_FOUND


@pytest.mark.parametrize(
    "row",
    [
        page(),
        page(revisions=[]),
        page(revisions=[{"revid": 3}]),
        page(revisions=[{"revid": 3, "slots": {"main": {}}}]),
        page(revisions=[{"revid": 3, "slots": {"other": {"content": "Text."}}}]),
    ],
)
def test_a_page_without_its_text_has_no_answer_yet(row: dict[str, Any]) -> None:
    assert found({"query": {"pages": [row]}}) is None
    assert found({}) is None


@pytest.mark.parametrize(("mark", "trouble"), [("texthidden", Trouble.FORBIDDEN), ("textmissing", Trouble.MALFORMED)])
def test_a_text_that_the_wiki_does_not_give_is_absent(mark: str, trouble: Trouble) -> None:
    slots = [{"revid": 3, "slots": {"main": {mark: True}}}]
    for revisions in (slots, [{"revid": 3, mark: ""}]):
        answer = found({"query": {"pages": [page(revisions=revisions)]}})
        assert isinstance(answer, Absent)
        assert answer.trouble is trouble


def test_an_empty_text_is_a_text() -> None:
    answer = found({"query": {"pages": [page(revisions=[{"revid": 3, "size": 0, "*": ""}])]}})
    assert isinstance(answer, Page)
    assert (answer.text, answer.length) == ("", 0)


def test_what_is_no_wikitext_is_told_as_such() -> None:
    slot = {"content": "{}", "contentmodel": "json"}
    answer = found({"query": {"pages": [page(revisions=[{"revid": 3, "slots": {"main": slot}}])]}})
    assert isinstance(answer, Page)
    assert answer.model == "json"


def test_a_file_of_another_wiki_has_no_page_here() -> None:
    known = {"ns": 6, "title": "A", "missing": True, "known": True}
    assert found({"query": {"pages": [known]}}) == Absent("It does not exist in the wiki.")


def test_a_revision_is_read_of_a_page_that_moved() -> None:
    gathered = Gathered()
    redirects = [{"from": "A", "to": "B"}]
    gathered.add({"query": {"redirects": redirects, "pages": [page(title="B", lastrevid=9)]}})
    assert read_revision(gathered.found("A")) == Revision(9, 7, moved_to="B")
    assert read_revision(gathered.found("C")) is None
