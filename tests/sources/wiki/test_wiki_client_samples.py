"""Real answers of real wikis, where DETENT_SAMPLES names the folder that has them."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from detent.lifecycle import Trouble
from detent.sources.wiki.client.answers import read_answer, read_revision, read_site
from detent.sources.wiki.client.failure import failed_answer
from detent.sources.wiki.client.gathering import Gathered, rows
from detent.sources.wiki.pages import Absent, Answer, Moved, Page
from detent.wikitext import parse
from detent.wikitext.site import Site

SAMPLES = Path(os.environ.get("DETENT_SAMPLES") or "/nowhere") / "mediawiki"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="DETENT_SAMPLES names no folder with samples of wikis")


def sample(*path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SAMPLES.joinpath(*path).read_text())
    return loaded


def gathered(*answers: dict[str, Any]) -> Gathered:
    together = Gathered()
    for answer in answers:
        together.add(answer)
    return together


def answered(folder: str, file: str, *titles: str) -> dict[str, Answer | None]:
    together = gathered(sample(folder, file))
    return {title: read_answer(together.found(title)) for title in titles}


def test_the_site_of_wikipedia_spells_titles_as_wikipedia_does() -> None:
    site = read_site(sample("api_infoboxer_2017", "siteinfo.json")["query"])
    assert site is not None
    for written, text, namespace in [
        ("wp:manual of style", "Wikipedia:Manual of style", 4),
        ("image:Cat.jpg", "File:Cat.jpg", 6),
        ("python_(programming language)", "Python (programming language)", 0),
        ("Star Trek: Voyager", "Star Trek: Voyager", 0),
    ]:
        title = site.title(written)
        assert title is not None
        assert (title.text, title.namespace) == (text, namespace)
    other = site.title("de:Berlin")
    assert other is not None
    assert (other.text, other.interwiki) == ("Berlin", "de")


def test_several_titles_that_lead_to_one_page() -> None:
    titles = ["Kharkiv", "Kharkov", "Kharkiv, Ukraine"]
    answers = answered("api_infoboxer_2017", "Kharkiv_Kharkov_Kharkiv_Ukraine.json", *titles)
    page = answers["Kharkiv"]
    assert isinstance(page, Page)
    assert (page.id, page.revision, page.length) == (2788558, 798528392, 128543)
    assert len(page.text.encode()) == page.length
    assert answers["Kharkov"] == answers["Kharkiv, Ukraine"] == Moved("Kharkiv", "", page)


def test_a_page_a_missing_one_and_one_that_is_invalid() -> None:
    titles = ["Argentina", "Ukraine", "WTF I just read? Make me unsee it"]
    answers = answered("api_infoboxer_2017", "Argentina_Ukraine_WTF_I_just_read_Make_me_unsee_it.json", *titles)
    assert [type(answer) for answer in answers.values()] == [Page, Page, Absent]
    invalid = answered("api_infoboxer_2017", "It_27s_not.json", "It%27s not")["It%27s not"]
    assert isinstance(invalid, Absent)
    assert invalid.trouble is Trouble.REJECTED
    assert '"%27"' in invalid.reason


def test_the_infobox_of_a_real_page_has_a_list_whose_links_have_equals_signs() -> None:
    moved = answered("api_infoboxer_2017", "Einstein.json", "Einstein")["Einstein"]
    assert isinstance(moved, Moved)
    assert moved.page is not None
    infobox = parse(moved.page.text, Site()).infobox
    known_for = infobox["known_for"].split("\n")
    assert known_for[3:5] == [
        "- E=mc2 (Mass\u2013energy equivalence)",
        "- E=hf (Planck\u2013Einstein relation)",
    ]
    assert len(known_for) == 14
    assert (infobox["birth_date"], infobox["death_date"]) == ("1879-03-14", "1955-04-18")


def test_the_second_format_with_its_slots() -> None:
    page = answered("api_android_fv2", "wikitext.json", "User:Mhollo/sandbox")["User:Mhollo/sandbox"]
    assert isinstance(page, Page)
    assert (page.id, page.namespace, page.model) == (46498401, 2, "wikitext")
    assert "test12" in page.text


def test_titles_with_underscores_are_other_names() -> None:
    found = gathered(sample("api_android_fv2", "reading_list_page_info.json")).found("Barack_Obama")
    assert found.row is not None
    assert found.row["title"] == "Barack Obama"


def test_redirects_of_a_search_lead_to_their_pages() -> None:
    together = gathered(sample("api_android_fv2", "prefix_search_results.json"))
    for asked, title in [("Abama", "Narthecium"), ("Abamax", "Amitriptyline")]:
        found = together.found(asked)
        assert found.row is not None
        assert found.row["title"] == title


def test_disambiguation_is_marked() -> None:
    for file, marked in [("pageprops-mercury.json", True), ("pageprops-mercury-element.json", False)]:
        (row,) = rows(sample("api_light-wiki_2026_fv2", file)["query"], "pages")
        revised = {**row, "revisions": [{"revid": 1, "slots": {"main": {"content": "Text."}}}]}
        together = gathered({"query": {"pages": [revised]}})
        page = read_answer(together.found(row["title"]), marks=True)
        assert isinstance(page, Page)
        assert page.disambiguation is marked


@pytest.mark.parametrize(
    ("name", "many", "part", "titles"),
    [
        ("PageRelationProps.test_links", 2, "links", 748),
        ("WikiImages.test_limit", 6, "images", 16),
        ("PageCoordinatesImages.test_images", 2, "images", 16),
    ],
)
def test_answers_that_continue_are_put_together(name: str, many: int, part: str, titles: int) -> None:
    pieces = [sample("api_wikipedia-api_2026", f"{name}_{number}.json") for number in range(many)]
    assert ["continue" in piece for piece in pieces] == [True] * (many - 1) + [False]
    found = gathered(*pieces).found("Python_(programming_language)")
    assert found.row is not None
    assert len({row["title"] for row in found.row[part]}) == len(found.row[part]) == titles


def test_a_revision_and_a_missing_one() -> None:
    there = gathered(sample("api_wikipedia-api_2026", "PageExistence.test_exists_true_0.json"))
    revision = read_revision(there.found("Python_(programming_language)"))
    assert revision is not None
    assert (revision.id, revision.page, revision.missing) == (1345336232, 23862, False)
    gone = gathered(sample("api_wikipedia-api_2026", "PageExistence.test_exists_false_0.json"))
    revision = read_revision(gone.found("NonExistentPage_WikiAPI_Test_12345"))
    assert revision is not None
    assert revision.missing


def test_errors_are_told() -> None:
    error = failed_answer("here", sample("api_android_fv2", "api_error.json"), {})
    assert error is not None
    assert (error.code, error.trouble) == ("unknown_action", Trouble.REJECTED)
    error = failed_answer("here", sample("api_wikipedia-api_2026", "WikiSearch.test_what_title__0.json"), {})
    assert error is not None
    assert error.code == "search-title-disabled"


def test_every_title_that_a_real_answer_is_about_has_an_answer() -> None:
    with (SAMPLES / "api_infoboxer_2017" / "MANIFEST.tsv").open(newline="") as listed:
        requests = {row["file"]: row["request_uri(decoded)"] for row in csv.DictReader(listed, delimiter="\t")}
    asked = {file: parse_qs(urlsplit(address.replace("%27", "%2527")).query) for file, address in requests.items()}
    about = {file: query["titles"][0].split("|") for file, query in asked.items() if "titles" in query}
    assert len(about) > 15
    for file, titles in about.items():
        answers = answered("api_infoboxer_2017", file, *titles)
        assert None not in answers.values(), file


def test_every_real_answer_can_be_read() -> None:
    files = [file for file in SAMPLES.glob("api_*/*.json") if file.name != "response-headers-example.json"]
    assert len(files) > 100
    for file in files:
        answer = sample(str(file.relative_to(SAMPLES)))
        assert (failed_answer("here", answer, {}) is not None) == ("error" in answer or "errors" in answer), file
        together = gathered(answer)
        for row in rows(answer.get("query", {}), "pages"):
            found = together.found(row["title"])
            assert found.absent is not None or found.row is not None, file
            read_answer(found)
