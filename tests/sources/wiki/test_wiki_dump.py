"""A dump gives the same pages whatever files it is in, all of them in order or some of them by their titles."""

from __future__ import annotations

import bz2
import gzip
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage, Wiki

from detent.sources.wiki.dump import Dump, DumpMissing, DumpUnreadable, recent, unpacking
from detent.sources.wiki.pages import Absent, Moved, Page

PAGES = [
    DumpedPage("Owl", "An '''owl''' is a [[bird]].\n\n== Food ==\nMice & voles < 100 g."),
    DumpedPage("Bird", "Birds ☃ have feathers.", before=("Birds.", "Birds have wings.")),
    DumpedPage("Owls", redirect="Owl#Food"),
    DumpedPage("Template:Box", "{{{1}}}", namespace=10),
    DumpedPage("Salt & pepper", "Both."),
    DumpedPage('The "Nest"', "A bar."),
    DumpedPage("2001: A Night Flight", "A film."),
    DumpedPage("Empty"),
    DumpedPage("Module:Count", "return {}", namespace=828, model="Scribunto"),
]


@pytest.fixture(params=dumps.FORMS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return dumps.write(tmp_path, PAGES, request.param, per=2)


def test_all_pages_come_in_order_from_every_form(path: Path, cache: Path) -> None:
    found = list(Dump(path, cache).pages())
    assert [page.title for page in found] == [page.title for page in PAGES]
    assert [page.namespace for page in found] == [page.namespace for page in PAGES]
    assert [page.id for page in found] == list(range(11, 11 + len(PAGES)))
    assert found[1].text == "Birds ☃ have feathers."
    assert found[1].length == len("Birds ☃ have feathers.".encode())
    assert (found[1].revision, found[1].edited, found[1].model) == (5011, "2024-02-29T12:00:00Z", "wikitext")
    assert (found[2].redirect, found[2].fragment) == ("Owl", "Food")
    assert [page.redirect for page in found].count(None) == len(PAGES) - 1
    assert all(page.lack is None for page in found)


def test_every_page_is_found_by_its_title_in_every_form(path: Path, cache: Path) -> None:
    dump = Dump(path, cache)
    pages = {page.title: page for page in dump.pages()}
    found = dump.find(list(pages))
    assert list(found) == list(pages)
    for title, answer in found.items():
        if title == "Owls":
            assert answer == Moved("Owl", "Food", found["Owl"] if isinstance(found["Owl"], Page) else None)
        elif title == "Module:Count":
            assert isinstance(answer, Absent)
        else:
            assert isinstance(answer, Page)
            assert (answer.text, answer.id, answer.namespace) == (
                pages[title].text,
                pages[title].id,
                pages[title].namespace,
            )


def test_titles_are_those_of_the_pages_in_every_form(path: Path, cache: Path) -> None:
    dump = Dump(path, cache)
    listed = list(dump.titles())
    assert [(each.title, each.namespace, each.id) for each in listed] == [
        (page.title, page.namespace, page.id) for page in dump.pages()
    ]


@pytest.mark.parametrize("form", ["multistream", "multistream-text", "folder"])
def test_an_index_is_found_beside_its_dump_and_tells_nothing_of_redirects(
    tmp_path: Path, cache: Path, form: str
) -> None:
    dump = Dump(dumps.write(tmp_path, PAGES, form), cache)
    assert {each.redirect for each in dump.titles()} == {None}


@pytest.mark.parametrize("form", ["multistream-bare", "bz2", "gz", "xml"])
def test_without_an_index_redirects_are_told_with_the_titles(tmp_path: Path, cache: Path, form: str) -> None:
    dump = Dump(dumps.write(tmp_path, PAGES, form), cache)
    assert [each.title for each in dump.titles() if each.redirect] == ["Owls"]


def test_an_index_is_all_that_is_unpacked_to_tell_the_titles(tmp_path: Path, cache: Path) -> None:
    """But for the first page and the last, by which it is known to be the right one."""
    path = dumps.write(tmp_path, [DumpedPage(f"Page {number}", "Text.") for number in range(500)], per=5)
    read: list[int] = []
    stream = unpacking.stream

    def counted(file: Path, offset: int) -> Iterator[bytes]:
        read.append(offset)
        return stream(file, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "stream", counted)
        assert Counter(each.redirect for each in Dump(path, cache).titles()) == {None: 500}
    assert len(read) <= 5


def test_the_head_says_how_the_wiki_spells_titles(path: Path, cache: Path) -> None:
    site = Dump(path, cache).site()
    assert site.case_sensitive == frozenset()
    assert site.own_names[4] == "Almanac"
    title = site.title("template:box")
    assert title is not None
    assert (title.text, title.namespace) == ("Template:Box", 10)


@pytest.mark.parametrize("schema", ["0.10", "0.11"])
def test_a_wiki_that_keeps_first_letters_is_told_as_such(tmp_path: Path, cache: Path, schema: str) -> None:
    wiki = Wiki("owlwiktionary", "de", "case-sensitive", {0: "", 10: "Vorlage"}, schema)
    dump = Dump(dumps.write(tmp_path, [DumpedPage("owl", "a bird")], wiki=wiki), cache)
    site = dump.site()
    assert site.own_names[10] == "Vorlage"
    assert site.case_sensitive >= {0, 10}
    assert isinstance(dump.find(["owl"])["owl"], Page)
    assert isinstance(dump.find(["Owl"])["Owl"], Absent)


def test_a_namespace_that_keeps_first_letters_is_told_as_such(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, [DumpedPage("Owl", "a bird")], form="xml")
    head = path.read_text().replace('key="828" case="first-letter"', 'key="828" case="case-sensitive"')
    path.write_text(head)
    assert Dump(path, cache).site().case_sensitive == {828}


def test_a_wiki_without_pages_has_none(tmp_path: Path, cache: Path) -> None:
    for form in ("xml", "bz2", "gz", "multistream-bare"):
        dump = Dump(dumps.write(tmp_path, [], form), cache)
        assert list(dump.pages()) == []
        assert list(dump.titles()) == []
        assert isinstance(dump.find(["Owl"])["Owl"], Absent)


def test_titles_in_the_order_of_the_dump_unpack_each_stream_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [DumpedPage(f"Page {number}", "Text. " * 100) for number in range(300)]
    dump = Dump(dumps.write(tmp_path, pages, per=10), cache)
    dump.find(["Page 0"])
    monkeypatch.setattr(recent, "MOST_BYTES", 100_000)
    stream, read = unpacking.stream, Counter[int]()

    def counted(path: Path, offset: int) -> Iterator[bytes]:
        read[offset] += 1
        return stream(path, offset)

    monkeypatch.setattr(unpacking, "stream", counted)
    for start in range(10, 300, 7):
        dump.find([page.title for page in pages[start : start + 7]])
    assert set(read.values()) == {1}
    assert len(read) == 29


def test_what_is_kept_of_streams_stays_within_its_bounds(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MOST_BYTES", 25_000)
    pages = [DumpedPage(f"Page {number}", "x" * 2_000) for number in range(100)]
    dump = Dump(dumps.write(tmp_path, pages, per=20), cache)
    for page in pages:
        assert isinstance(dump.find([page.title])[page.title], Page)
    kept = dump._opened().parts[0]._recent
    assert kept._bytes() <= 25_000


def test_streams_that_another_program_cut_anywhere_are_one_file(tmp_path: Path, cache: Path) -> None:
    document = dumps.xml([DumpedPage(f"Page {number}", f"Text {number}.") for number in range(50)])
    path = tmp_path / "owlwiki-pages-articles.xml.bz2"
    path.write_bytes(b"".join(bz2.compress(document[at : at + 3_000]) for at in range(0, len(document), 3_000)))
    dump = Dump(path, cache)
    assert len(list(dump.pages())) == 50
    answer = dump.find(["Page 33"])["Page 33"]
    assert isinstance(answer, Page)
    assert answer.text == "Text 33."


def test_a_stream_too_long_to_be_held_is_read_while_it_is_unpacked(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_LONGEST_HELD", 4_000)
    monkeypatch.setattr(unpacking, "PIECE", 1_000)
    pages = [DumpedPage(f"Page {number}", f"Text {number * 7919}. " * 40) for number in range(60)]
    path = dumps.write(tmp_path, pages, "multistream-bare", per=25)
    assert [page.text for page in Dump(path, cache).pages()] == [page.text for page in pages]
    assert isinstance(Dump(path, cache).find(["Page 59"])["Page 59"], Page)


def test_a_gz_of_several_members_is_one_file(tmp_path: Path, cache: Path) -> None:
    document = dumps.xml(PAGES)
    path = tmp_path / "wiki.xml.gz"
    path.write_bytes(gzip.compress(document[:700]) + gzip.compress(document[700:]) + bytes(512))
    assert len(list(Dump(path, cache).pages())) == len(PAGES)


def test_a_small_gz_of_much_text_is_read_to_its_end(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, [DumpedPage("Long", "x" * 3_000_000)], "gz")
    assert [page.length for page in Dump(path, cache).pages()] == [3_000_000]


def test_the_packing_is_told_by_the_bytes_and_not_by_the_name(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "gz")
    path = path.rename(tmp_path / "dump.xml")
    assert len(list(Dump(path, cache).pages())) == len(PAGES)


def test_an_index_of_another_name_is_used_when_it_is_named(tmp_path: Path, cache: Path) -> None:
    path = dumps.write(tmp_path, PAGES, "multistream-text")
    index = next(tmp_path.glob("*index*")).rename(tmp_path / "places.txt")
    assert {each.redirect for each in Dump(path, cache, index).titles()} == {None}
    assert {each.redirect for each in Dump(path, cache).titles()} == {True, False}


def test_parts_are_read_in_the_order_of_their_numbers(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in (10, 9, 1):
        (folder / f"owlwiki-pages-articles{number}.xml").write_bytes(dumps.xml([DumpedPage(f"Page {number}", "x")]))
    assert [page.title for page in Dump(folder, cache).pages()] == ["Page 1", "Page 9", "Page 10"]


def test_of_a_wiki_that_is_there_in_several_ways_one_is_taken(tmp_path: Path, cache: Path) -> None:
    dumps.write(tmp_path, PAGES, "multistream")
    for form in ("bz2", "xml", "gz"):
        dumps.write(tmp_path, PAGES, form)
    (tmp_path / "owlwiki-20240301-stub-articles.xml.gz").write_bytes(gzip.compress(dumps.xml(PAGES)))
    (tmp_path / "owlwiki-20240301-pages-articles-multistream1.xml-p1p99.bz2").write_bytes(b"")
    assert len(list(Dump(tmp_path, cache).pages())) == len(PAGES)
    next(tmp_path.glob("*multistream.xml.bz2")).unlink()
    next(tmp_path.glob("*multistream1*")).unlink()
    assert len(list(Dump(tmp_path, cache).titles())) == len(PAGES)


@pytest.mark.parametrize("later", ["20260201", "latest"])
def test_while_parts_of_another_day_are_there_nothing_is_read(tmp_path: Path, cache: Path, later: str) -> None:
    for part in (1, 2):
        pages = [DumpedPage(f"Page {part}", "It is old.")]
        (tmp_path / f"owlwiki-20260101-pages-articles{part}.xml").write_bytes(dumps.xml(pages))
    dump = Dump(tmp_path, cache)
    assert len(dump.standing(["Page 1", "Page 2"])) == 2
    newer = tmp_path / f"owlwiki-{later}-pages-articles1.xml"
    newer.write_bytes(dumps.xml([DumpedPage("Page 1", "It is new.")]))
    with pytest.raises(DumpMissing, match=f"owlwiki of several days: 20260101, {later}. Keep the files of one day"):
        dump.standing(["Page 1", "Page 2"])
    newer.unlink()
    assert [page.text for page in dump.pages()] == ["It is old."] * 2


def test_days_are_told_by_whole_files_too(tmp_path: Path, cache: Path) -> None:
    for day in ("20260101", "20260201"):
        (tmp_path / f"owlwiki-{day}.xml").write_bytes(dumps.xml([DumpedPage("Owl", day)]))
    with pytest.raises(DumpMissing, match="of several days"):
        Dump(tmp_path, cache).site()


def test_another_day_of_what_is_not_read_does_no_harm(tmp_path: Path, cache: Path) -> None:
    names = [("20260101-pages-articles", "Hoo."), ("20260301-stub-articles", ""), ("20251201-pages-meta-history", "")]
    for name, text in names:
        (tmp_path / f"owlwiki-{name}.xml").write_bytes(dumps.xml([DumpedPage("Owl", text)]))
    assert [page.text for page in Dump(tmp_path, cache).pages()] == ["Hoo."]


def test_the_latest_revisions_are_taken_before_all_revisions(tmp_path: Path, cache: Path) -> None:
    for kind in ("pages-meta-history", "pages-meta-current", "pages-logging"):
        (tmp_path / f"owlwiki-20260101-{kind}.xml").write_bytes(dumps.xml([DumpedPage("Owl", kind)]))
    assert [page.text for page in Dump(tmp_path, cache).pages()] == ["pages-meta-current"]


def test_days_of_two_wikis_are_not_compared(tmp_path: Path, cache: Path) -> None:
    for name, day in [("owlwiki", "20250101"), ("hawkwiki", "20260101")]:
        pages = dumps.xml([DumpedPage("Owl", "x")], Wiki(name))
        (tmp_path / f"{name}-{day}-pages-articles.xml").write_bytes(pages)
    with pytest.raises(DumpUnreadable, match="more than one wiki: hawkwiki, owlwiki"):
        Dump(tmp_path, cache).find(["Owl"])


def test_parts_of_two_wikis_are_refused(tmp_path: Path, cache: Path) -> None:
    dumps.write(tmp_path, PAGES, wiki=Wiki("hawkwiki"))
    dumps.write(tmp_path, PAGES, wiki=Wiki("owlwiki"))
    with pytest.raises(DumpUnreadable, match="more than one wiki: hawkwiki, owlwiki"):
        Dump(tmp_path, cache).find(["Owl"])


def test_what_is_not_there_is_said_when_it_is_asked(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DumpMissing, match=r"There is no dump .*nowhere\.xml"):
        Dump(tmp_path / "nowhere.xml", cache).site()
    with pytest.raises(DumpMissing, match="no dump in the folder"):
        Dump(tmp_path, cache).site()
    path = dumps.write(tmp_path, PAGES)
    with pytest.raises(DumpMissing, match="There is no index"):
        Dump(path, cache, tmp_path / "index.txt").site()
    folder = dumps.write(tmp_path, PAGES, "folder")
    with pytest.raises(DumpUnreadable, match="Leave it out"):
        Dump(folder, cache, next(folder.glob("*index*"))).site()


_LETTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
_TEXTS = st.text(st.one_of(_LETTERS, st.sampled_from("<>&\"'\n\t []{}#;")), max_size=60)


@given(
    st.dictionaries(st.text(_LETTERS, min_size=1, max_size=20).filter(str.strip), _TEXTS, min_size=1, max_size=12),
    st.sampled_from(dumps.FORMS),
)
def test_any_titles_and_texts_come_back_as_they_were_written(texts: dict[str, str], form: str) -> None:
    """A title that is no title of a wiki is found all the same when it is asked for as it is written."""
    pages = [DumpedPage(title, f"x{text}") for title, text in texts.items()]
    with tempfile.TemporaryDirectory() as folder:
        dump = Dump(dumps.write(Path(folder), pages, form, per=3), Path(folder, "cache"))
        assert [(page.title, page.text) for page in dump.pages()] == [(page.title, page.text) for page in pages]
        assert [each.title for each in dump.titles()] == list(texts)
        for title, answer in dump.find(list(texts)).items():
            assert isinstance(answer, Page)
            assert (answer.title, answer.text) == (title, f"x{texts[title]}")
