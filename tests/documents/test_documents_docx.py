"""Word files: sections by styles, and archives and XML that mean harm."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.documents.docx import parse
from detent.documents.parsed import Link, Parsed, Part, Unparsable

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"

STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="berschrift2"><w:name w:val="Heading 2"/></w:style>
<w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Tief"><w:name w:val="Tief"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:styleId="Punkt"><w:name w:val="Punkt"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Kreis"><w:name w:val="Kreis"/><w:basedOn w:val="Kreis"/></w:style>
</w:styles>"""
FOOTNOTES = f"""<w:footnotes xmlns:w="{W}"><w:footnote w:id="2"><w:p><w:r><w:t>See the annex.</w:t></w:r></w:p>
</w:footnote></w:footnotes>"""
CORE = """<c:coreProperties xmlns:c="urn:c" xmlns:dc="urn:dc" xmlns:t="urn:t"><dc:title>The  plan</dc:title>
<dc:creator>A. Writer</dc:creator><t:created>2024-05-06T07:08:09Z</t:created></c:coreProperties>"""
PACKAGE = f"""<Relationships xmlns="{RELATIONS}">
<Relationship Id="a" Type="{R}/officeDocument" Target="word/document.xml"/>
<Relationship Id="b" Type="{R}/metadata/core-properties" Target="docProps/core.xml"/></Relationships>"""
DOCUMENT_RELATIONS = f"""<Relationships xmlns="{RELATIONS}">
<Relationship Id="s" Type="{R}/styles" Target="styles.xml"/>
<Relationship Id="f" Type="{R}/footnotes" Target="/word/footnotes.xml"/>
<Relationship Id="l" Type="{R}/hyperlink" Target="https://example.org/annex" TargetMode="External"/></Relationships>"""


def paragraph(text: str, style: str = "", inside: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t>{inside}</w:r></w:p>"


def document(*blocks: str) -> str:
    return f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{"".join(blocks)}</w:body></w:document>'


def archive(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def docx(body: str, **others: str) -> bytes:
    files: dict[str, str | bytes] = {
        "_rels/.rels": PACKAGE,
        "word/document.xml": body,
        "word/_rels/document.xml.rels": DOCUMENT_RELATIONS,
        "word/styles.xml": others.get("styles", STYLES),
        "word/footnotes.xml": others.get("footnotes", FOOTNOTES),
        "docProps/core.xml": others.get("core", CORE),
    }
    return archive(files)


def read(*blocks: str) -> Parsed:
    return parse(docx(document(*blocks)), "plan.docx")


def by_key(parsed: Parsed) -> dict[str, Part]:
    return {part.key: part for part in parsed.parts}


def test_headings_make_sections_by_the_names_of_their_styles() -> None:
    found = read(
        paragraph("Preface."),
        paragraph("Aims &amp; means", "berschrift1"),
        paragraph("We want much."),
        paragraph("Money", "berschrift2"),
        paragraph("Little of it."),
        paragraph("Risks", "berschrift1"),
    )
    assert found.text == "Preface."
    assert [(part.key, part.title, part.parent, part.text, part.first, part.last) for part in found.parts] == [
        ("aims-means", "Aims & means", "", "We want much.", 2, 5),
        ("money", "Money", "aims-means", "Little of it.", 4, 5),
        ("risks", "Risks", "", "", 6, 6),
    ]
    assert [part.properties["level"] for part in found.parts] == [1, 2, 1]


def test_a_style_takes_its_level_from_that_which_it_is_based_on_and_from_its_outline() -> None:
    found = read(paragraph("One", "Kapitel"), paragraph("Three", "Tief"), paragraph("No", "Kreis"))
    assert [part.properties["level"] for part in found.parts] == [1, 3]
    assert found.parts[1].text == "No"


def test_a_paragraph_can_have_an_outline_level_of_its_own_or_refuse_that_of_its_style() -> None:
    plain = paragraph("No heading", "berschrift1", properties='<w:outlineLvl w:val="9"/>')
    found = read(paragraph("Mine", properties='<w:outlineLvl w:val="0"/>'), plain)
    assert [(part.title, part.text) for part in found.parts] == [("Mine", "No heading")]


def test_without_styles_the_ids_of_styles_are_believed() -> None:
    body = document(paragraph("Top", "Heading1"), paragraph("Text", "Normal"))
    found = parse(archive({"word/document.xml": body}), "a.docx")
    assert [(part.title, part.text) for part in found.parts] == [("Top", "Text")]


def test_headings_of_the_same_name_have_different_keys() -> None:
    found = read(paragraph("A", "berschrift1"), paragraph("A", "berschrift1"), paragraph("A", "berschrift2"))
    assert [part.key for part in found.parts] == ["a", "a~2", "a~2/a"]


def test_the_title_the_author_and_the_date_are_told() -> None:
    found = read(paragraph("x"))
    assert (found.kind, found.title) == ("docx", "The plan")
    assert found.properties == {"author": "A. Writer", "created": "2024-05-06T07:08:09Z"}


def test_a_table_is_written_as_lines() -> None:
    row = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    inner = f"<w:tbl>{row.format(paragraph('in'), paragraph('side'))}</w:tbl>"
    rows = row.format(paragraph("a"), paragraph("b") + paragraph("c")) + row.format(inner, paragraph("d"))
    found = read(paragraph("T", "berschrift1"), f"<w:tbl>{rows}</w:tbl>", paragraph("After."))
    assert found.parts[0].text == "a | b c\nin | side | d\n\nAfter."


def test_lists_are_written_with_dashes() -> None:
    second = paragraph("two", properties='<w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr>')
    none = paragraph("no item", "Punkt", properties='<w:numPr><w:numId w:val="0"/></w:numPr>')
    found = read(paragraph("one", "Punkt"), second, paragraph("three", "Punkt"), none)
    assert found.text == "- one\n  - two\n- three\n\nno item"


def test_a_footnote_stands_at_the_end_of_its_section() -> None:
    noted = paragraph("Claim.", inside='<w:footnoteReference w:id="2"/>')
    found = by_key(read(paragraph("A", "berschrift1"), noted, paragraph("More."), paragraph("B", "berschrift1")))
    assert found["a"].text == "Claim.\n\nMore.\n\nSee the annex."
    assert found["b"].text == ""


def test_links_are_told_with_their_section_also_from_tables() -> None:
    linked = '<w:p><w:hyperlink r:id="l"><w:r><w:t>annex</w:t></w:r></w:hyperlink></w:p>'
    table = f"<w:tbl><w:tr><w:tc>{linked}</w:tc></w:tr></w:tbl>"
    found = read(paragraph("A", "berschrift1"), linked, table)
    target = "https://example.org/annex"
    assert found.links == [Link("link", target, "a", 2), Link("link", target, "a", 3)]


def test_deleted_text_and_fallbacks_are_left_out_and_tabs_and_breaks_are_kept() -> None:
    inside = "<w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:del><w:r><w:t>gone</w:t></w:r></w:del>"
    fallback = '<x:Fallback xmlns:x="urn:x"><w:p><w:r><w:t>twice</w:t></w:r></w:p></x:Fallback>'
    stops = '<w:tabs><w:tab w:val="left"/></w:tabs>'
    assert read(paragraph("a", inside=inside + fallback, properties=stops)).text == "a\tb\nc"


def test_malformed_xml_is_read_as_far_as_it_goes() -> None:
    body = document(paragraph("A", "berschrift1"), paragraph("Text."))[:-20]
    found = parse(docx(body), "a.docx")
    assert found.parts[0].text == "Text."
    assert "word/document.xml in it is malformed at line 1" in found.problems[0]


def test_a_file_beside_the_document_that_is_malformed_is_a_problem_only() -> None:
    found = parse(docx(document(paragraph("Text.")), styles="<a", footnotes="", core="no"), "a.docx")
    assert found.text == "Text."
    assert len(found.problems) == 2


@pytest.mark.parametrize("entity", ['"expanded"', 'SYSTEM "file:///etc/passwd"', 'SYSTEM "http://localhost:9/x"'])
def test_a_document_with_entities_is_refused(entity: str) -> None:
    body = document(paragraph("A &e; B"))
    with pytest.raises(Unparsable, match="declares a document type"):
        parse(docx(f"<!DOCTYPE w:document [<!ENTITY e {entity}>]>{body}"), "a.docx")


def test_entities_beside_the_document_do_not_get_into_it() -> None:
    core = f'<!DOCTYPE a [<!ENTITY e "expanded">]>{CORE.replace("plan", "&e;")}'
    found = parse(docx(document(paragraph("Text.")), core=core), "a.docx")
    assert (found.title, found.text) == ("", "Text.")
    assert "declares a document type" in found.problems[0]


def test_xml_nested_too_deeply_is_a_problem() -> None:
    body = document(paragraph("Before."), "<w:sdt>" * 100_000)
    found = parse(docx(body), "a.docx")
    assert found.text == "Before."
    assert len(found.problems) == 1


def test_a_bomb_is_refused_for_its_ratio() -> None:
    body = document("<w:p></w:p>" * 500_000)
    with pytest.raises(Unparsable, match=r"5,500,.* bytes packed in"):
        parse(docx(body), "a.docx")


def test_a_bomb_is_refused_for_its_declared_size() -> None:
    data = bytearray(docx(document(paragraph("x"))))
    place = data.index(b"word/document.xml", data.index(b"PK\x01\x02")) - 46
    data[place + 24 : place + 28] = struct.pack("<I", 200_000_000)
    with pytest.raises(Unparsable, match="larger than 100,000,000 bytes"):
        parse(bytes(data), "a.docx")


def test_a_size_that_is_declared_too_small_is_not_believed() -> None:
    data = bytearray(docx(document(paragraph("x" * 1000))))
    place = data.index(b"word/document.xml", data.index(b"PK\x01\x02")) - 46
    data[place + 24 : place + 28] = struct.pack("<I", 10)
    with pytest.raises(Unparsable):
        parse(bytes(data), "a.docx")


def test_an_archive_of_too_many_files_is_refused() -> None:
    with pytest.raises(Unparsable, match="more than 10,000 files"):
        parse(docx(document(paragraph("x"))) + b"PK\x01\x02" * 10_000, "a.docx")


def test_an_encrypted_file_says_so() -> None:
    with pytest.raises(Unparsable, match="encrypted"):
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000), "a.docx")
    data = bytearray(docx(document(paragraph("x"))))
    place = data.index(b"word/document.xml", data.index(b"PK\x01\x02")) - 46
    data[place + 8] |= 1
    with pytest.raises(Unparsable, match=r"It is encrypted\."):
        parse(bytes(data), "a.docx")


def test_an_archive_without_a_document_is_no_word_file() -> None:
    with pytest.raises(Unparsable, match="no document"):
        parse(archive({"a.txt": "x"}), "a.docx")


def test_a_file_that_was_cut_off_anywhere_is_unparsable() -> None:
    whole = docx(document(paragraph("A", "berschrift1"), paragraph("Text.")))
    for length in range(0, len(whole), 10):
        with pytest.raises(Unparsable):
            parse(whole[:length], "a.docx")


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes) -> None:
    with pytest.raises(Unparsable):
        parse(data, "a.docx")


@settings(max_examples=200)
@given(st.data())
def test_any_damage_is_survived(data: st.DataObject) -> None:
    whole = bytearray(docx(document(paragraph("A", "berschrift1"), paragraph("Text."))))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(bytes(whole), "a.docx")
    except Unparsable as error:
        assert str(error).endswith(".")


@given(st.text(alphabet="<>/&;!w:pt[]\"'= abc", max_size=200))
def test_any_xml_is_survived(body: str) -> None:
    try:
        parse(archive({"word/document.xml": body or " "}), "a.docx")
    except Unparsable as error:
        assert str(error).endswith(".")
