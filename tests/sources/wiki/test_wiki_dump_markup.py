"""What the XML of a dump may look like, and what is refused of it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.wiki import dumps
from tests.sources.wiki.dumps import DumpedPage, Wiki

from detent.lifecycle import Trouble
from detent.sources.wiki.dump import Dump, DumpDamaged, Dumped, DumpRefused, DumpUnreadable, markup
from detent.sources.wiki.dump.markup import Reader
from detent.sources.wiki.pages import Absent, Page


def _read(document: str, size: int = 65_536) -> list[Dumped]:
    data = document.encode()
    return list(Reader("owl.xml").pages(data[at : at + size] for at in range(0, len(data), size)))


def _page(inside: str) -> Dumped:
    [page] = _read(f"<mediawiki><page><title>Owl</title><ns>0</ns><id>1</id>{inside}</page></mediawiki>")
    return page


def test_any_version_of_the_format_is_read() -> None:
    for schema in ("0.3", "0.10", "0.11", "7.5"):
        document = dumps.xml([DumpedPage("Owl", "A bird.")], Wiki(schema=schema)).decode()
        assert [page.text for page in _read(document)] == ["A bird."]


def test_a_page_of_an_old_dump_is_in_the_namespace_that_its_title_names() -> None:
    head = dumps.head(Wiki(schema="0.3"))
    pages = "".join(
        f"<page><title>{title}</title><id>1</id><revision><id>2</id><text>x</text></revision></page>"
        for title in ("Owl", "Almanac:Owl", "Nonsense:Owl", "Template:Owl")
    )
    assert [page.namespace for page in _read(f"{head}{pages}</mediawiki>")] == [0, 4, 0, 10]


def test_a_redirect_of_an_old_dump_leads_where_its_text_says() -> None:
    page = _page("<redirect /><revision><id>2</id><text>#REDIRECT [[Barn owl#Food|barn]]</text></revision>")
    assert (page.redirect, page.fragment) == ("Barn owl", "Food")
    nowhere = _page("<redirect /><revision><id>2</id><text>gone</text></revision>")
    assert (nowhere.redirect, nowhere.fragment) == (None, "")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#redirect:[[Owl|x]]", "Owl"),
        ("\n#REDIRECT\n : [[Owl#Food]]", "Owl"),
        ("#REDIRECT[[Owl]] [[Mouse]]", "Owl"),
        ("#REDIRECT Owl hunts the [[Mouse]]", None),
        ("#REDIRECTED [[Mouse]]", None),
        ("#REDIRECT [[Mouse", None),
        ("A #REDIRECT [[Mouse]]", None),
    ],
)
def test_where_the_dump_does_not_tell_a_redirect_is_a_link_directly_after_the_word(
    text: str, target: str | None
) -> None:
    assert _page(f"<revision><id>2</id><text>{text}</text></revision>").redirect == target


def test_what_the_dump_says_of_a_redirect_counts_more_than_its_text() -> None:
    page = _page('<redirect title="Barn owl" /><revision><id>2</id><text>#REDIRECT [[barn_owl]]</text></revision>')
    assert page.redirect == "Barn owl"
    other = _page('<redirect title="Eule" /><revision><id>2</id><text>#NACH BEI:\n[[Eule#Essen]]</text></revision>')
    assert (other.redirect, other.fragment) == ("Eule", "Essen")


@pytest.mark.parametrize("text", ["<text />", "<text/>", "<text></text>", '<text bytes="0" xml:space="preserve" />'])
def test_a_text_may_be_empty(text: str) -> None:
    page = _page(f"<revision><id>2</id>{text}</revision>")
    assert (page.text, page.length, page.lack) == ("", 0, None)


@pytest.mark.parametrize(("told", "length"), [("bytes='5'", 5), ("", 7), ("bytes='many'", 7)])
def test_a_text_is_as_long_as_the_wiki_says_or_else_as_its_bytes_are(told: str, length: int) -> None:
    assert _page(f"<revision><id>2</id><text {told}>owl ☃</text></revision>").length == length


def test_the_latest_revision_counts_also_where_older_ones_follow() -> None:
    page = _page(
        "<revision><id>2</id><timestamp>2001-05-05T00:00:00Z</timestamp><text>old</text></revision>"
        "<revision><id>3</id><timestamp>2002-01-31T00:00:00Z</timestamp><model>css</model><text>new</text></revision>"
        "<revision><id>9</id><timestamp>2001-12-31T00:00:00Z</timestamp><text deleted='deleted' /></revision>"
    )
    assert (page.revision, page.edited, page.model) == (3, "2002-01-31T00:00:00Z", "css")
    assert (page.text, page.lack) == ("new", None)


def test_of_revisions_of_one_time_the_later_in_the_dump_counts() -> None:
    revisions = "".join(
        f"<revision><id>{number}</id>{time}<text>{number}</text></revision>"
        for number, time in [(5, "<timestamp>2001</timestamp>"), (4, "<timestamp>2001</timestamp>"), (6, "")]
    )
    assert _page(revisions).text == "4"
    assert _page("<revision><text>a</text></revision><revision><text>b</text></revision>").text == "b"


def test_a_text_that_is_missing_is_that_of_the_latest_revision() -> None:
    page = _page(
        "<revision><id>3</id><timestamp>2002</timestamp><text deleted='deleted' /></revision>"
        "<revision><id>9</id><timestamp>2001</timestamp><text>old</text></revision>"
    )
    assert (page.revision, page.text) == (3, "")
    assert page.lack == Absent("The text of 'Owl' was deleted from the wiki.")


def test_the_last_revision_counts() -> None:
    page = _page(
        "<revision><id>2</id><timestamp>2001</timestamp><model>css</model><text deleted='deleted' /></revision>"
        "<revision><id>3</id><timestamp>2002</timestamp><text>new</text></revision>"
    )
    assert (page.revision, page.edited, page.model, page.text, page.lack) == (3, "2002", "wikitext", "new", None)


def test_a_page_may_have_no_revision() -> None:
    page = _page("")
    assert (page.revision, page.text, page.edited) == (0, "", "")


def test_a_deleted_author_or_comment_leaves_the_rest() -> None:
    page = _page(
        "<revision><id>2</id><contributor deleted='deleted' /><comment deleted='deleted' /><text>x</text></revision>"
    )
    assert (page.revision, page.text) == (2, "x")


def test_a_deleted_text_is_told() -> None:
    page = _page("<revision><id>2</id><text bytes='8' deleted='deleted' /></revision>")
    assert page.lack == Absent("The text of 'Owl' was deleted from the wiki.")


def test_a_dump_without_texts_says_so_of_each_page() -> None:
    page = _page("<revision><id>2</id><text bytes='800' id='77' /></revision>")
    assert page.lack == Absent("The dump lists 'Owl', but does not have its text.")


def test_only_what_is_the_revisions_own_is_taken_for_it() -> None:
    page = _page(
        "<revision><id>2</id><contributor><id>99</id></contributor><model>wikitext</model><text>main</text>"
        "<content><role>extra</role><model>json</model><text>{}</text><id>5</id></content></revision>"
        "<upload><text>file</text><timestamp>1999</timestamp></upload>"
    )
    assert (page.revision, page.model, page.text, page.edited) == (2, "wikitext", "main", "")


def test_comments_and_sections_of_plain_characters_are_read_as_xml() -> None:
    page = _page(
        "<revision><id>2</id><!-- <text>no</text> --><text>a<![CDATA[</text><page>&amp;]]>b&#x2603;</text></revision>"
    )
    assert page.text == "a</text><page>&amp;b☃"


def test_a_page_in_plain_characters_is_found_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "owl.xml"
    path.write_text(
        "<mediawiki><page><title>Owl</title><revision><text><![CDATA[<page><title>Cuckoo</title></page>]]></text>"
        "</revision></page></mediawiki>"
    )
    found = Dump(path, tmp_path / "cache").find(["Cuckoo", "Owl"])
    assert isinstance(found["Cuckoo"], Absent)
    assert isinstance(found["Owl"], Page)


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>',
        '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE m SYSTEM "http://owl.example/x.dtd">',
        "<!DOCTYPE m>",
        '<!DOCTYPE m [<!ENTITY % a SYSTEM "file:///etc/hostname"> %a;]>',
    ],
)
def test_a_document_type_is_refused(declared: str) -> None:
    with pytest.raises(DumpRefused, match=r"owl\.xml is not read beyond byte .* declares a document type"):
        _read(f"<?xml version='1.0'?>{declared}<mediawiki><page><title>&a;&c;</title></page></mediawiki>")


def test_an_entity_that_is_not_declared_is_damage() -> None:
    with pytest.raises(DumpDamaged, match="undefined entity"):
        _page("<revision><text>&owl;</text></revision>")


def test_another_encoding_than_utf8_is_refused() -> None:
    with pytest.raises(DumpRefused, match="it is written in ISO-8859-1, not in UTF-8"):
        _read('<?xml version="1.0" encoding="ISO-8859-1"?><mediawiki></mediawiki>')
    assert _read('<?xml version="1.0" encoding="UTF-8"?><mediawiki></mediawiki>') == []


def test_another_kind_of_xml_is_refused() -> None:
    with pytest.raises(DumpRefused, match="no dump of a MediaWiki, which begins with <mediawiki>, but with <html>"):
        _read("<html><page><title>Owl</title></page></html>")


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("<x>" * 100, "more than 32 levels deep"),
        (f"<page><title>{'x' * 70_000}", "<title> is longer than 65,536 characters"),
        ("<page><title>a<b>c</b></title>", "an element <b> within <title>"),
        (f"<page a='{'x' * 5_000_000}'", "a tag does not end"),
        (f"<!-- {'x' * 5_000_000}", "a tag does not end"),
    ],
)
def test_what_would_fill_the_memory_is_refused(inside: str, reason: str) -> None:
    with pytest.raises(DumpRefused, match=reason):
        _read(f"<mediawiki>{inside}")


@pytest.mark.parametrize("inside", ["<id>x</id>", "<ns>1e3</ns>", f"<id>{'9' * 40}</id>", "<id>1_0</id>"])
def test_a_number_that_is_none_is_damage(inside: str) -> None:
    with pytest.raises(DumpDamaged, match="should be a number"):
        _read(f"<mediawiki><page><title>Owl</title>{inside}</page></mediawiki>")


def test_a_page_without_a_title_is_damage() -> None:
    with pytest.raises(DumpDamaged, match="a page has no title"):
        _read("<mediawiki><page><id>1</id></page></mediawiki>")


def test_a_text_that_is_too_long_is_told_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(markup, "LONGEST_TEXT", 200_000)
    pages = [DumpedPage("Long", "x\n" * 100_001), DumpedPage("Just", "y" * 200_000), DumpedPage("Short", "z")]
    for form in dumps.FORMS:
        folder = tmp_path / form
        folder.mkdir()
        dump = Dump(dumps.write(folder, pages, form), folder / "cache")
        long, just, short = dump.pages()
        reason = "The text of 'Long' has 200,002 characters; it is read up to 200,000."
        assert (long.text, long.lack) == ("", Absent(reason, Trouble.REJECTED))
        assert (just.length, short.text) == (200_000, "z")
        assert dump.find(["Long"])["Long"] == Absent(reason, Trouble.REJECTED)


def test_a_text_of_any_length_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "LONGEST_TEXT", 1_000_000)
    head = b"<mediawiki><page><title>Long</title><revision><text>"
    piece = b"x" * 262_144
    tracemalloc.start()
    try:
        read = Reader("owl.xml").pages([head, *[piece] * 400, b"</text></revision></page></mediawiki>"])
        assert [page.lack is None for page in read] == [False]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@given(st.integers(1, 700))
def test_pages_are_the_same_wherever_the_pieces_are_cut(size: int) -> None:
    pages = [DumpedPage("Owl", "An & owl ☃ <b>"), DumpedPage("Owls", redirect="Owl"), DumpedPage("Empty")]
    document = dumps.xml(pages).decode()
    assert _read(document, size) == _read(document, len(document))


@given(st.data())
def test_any_damage_is_told_after_the_pages_before_it(data: st.DataObject) -> None:
    """A byte changed or a piece cut out: some first pages come as they were, and then all, or one error of ours."""
    document = dumps.xml([DumpedPage(f"Owl {number}", f"Text {number} & more.") for number in range(5)])
    place = data.draw(st.integers(0, len(document) - 1))
    damaged = document[:place] + data.draw(st.binary(max_size=3)) + document[place + data.draw(st.integers(0, 300)) :]
    whole = list(Reader("owl.xml").pages([document]))
    found: list[Dumped] = []
    try:
        found.extend(Reader("owl.xml").pages([damaged]))
    except DumpUnreadable as error:
        assert "owl.xml" in str(error)
    before = [page for page in whole if f"<title>{page.title}<".encode() in document[: max(0, place - 900)]]
    assert found[: len(before)] == before
