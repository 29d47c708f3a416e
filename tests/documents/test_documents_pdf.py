"""PDF files: pages with their text, and files that are damaged, locked or mean harm."""

from __future__ import annotations

import io
import logging
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from detent.documents import pdf
from detent.documents.parsed import Link, Parsed, Unparsable
from detent.documents.pdf import parse

FONT = b"/Resources << /Font << /F 3 0 R >> >>"
LINKED = b"/Annots [<< /Type /Annot /Subtype /Link /A << /S /URI /URI (https://example.org/a) >> >> 77 0 R]"
ABOUT = b"<< /Title (The  report) /Author (A. Writer) /CreationDate (D:20240102030405Z) >>"


def lines(*texts: bytes) -> bytes:
    return b"BT /F 12 Tf 50 700 Td " + b" ".join(b"(%s) Tj 0 -14 Td" % text for text in texts) + b" ET"


def stream(content: bytes, *, packed: bool = False, entries: bytes = b"") -> bytes:
    content = zlib.compress(content, 9) if packed else content
    entries += b" /Filter /FlateDecode" if packed else b""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def written(objects: dict[int, bytes], *, about: bytes = b"") -> bytes:
    """A PDF file of these objects, of which 1 is the catalog."""
    objects = {**objects, 4: about} if about else objects
    data, places = bytearray(b"%PDF-1.7\n"), {}
    for number in sorted(objects):
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start, size = len(data), max(objects) + 1
    data += b"xref\n0 %d\n" % size
    for number in range(size):
        data += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    named = b"/Info 4 0 R" if about else b""
    return bytes(data) + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, named, start)


def document(*contents: bytes, extra: bytes = b"", about: bytes = b"") -> bytes:
    """A PDF file with a page for each of these content streams, written as objects."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (10 + 2 * place) for place in range(len(contents))), len(contents)),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for place, content in enumerate(contents):
        number = 10 + 2 * place
        resources = b"" if b"/Resources" in extra else FONT
        objects[number] = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] %s %s /Contents %d 0 R >>" % (
            resources,
            extra,
            number + 1,
        )
        objects[number + 1] = content
    return written(objects, about=about)


def read(*contents: bytes, extra: bytes = b"", about: bytes = b"") -> Parsed:
    return parse(document(*map(stream, contents), extra=extra, about=about), "a.pdf")


def test_each_page_with_text_is_a_part() -> None:
    found = read(lines(b"One"), b"", lines(b"Three", b"and more"))
    assert found.kind == "pdf"
    assert found.properties == {"pages": 3}
    assert [(part.label, part.key, part.title, part.text, part.first, part.last) for part in found.parts] == [
        ("Page", "page-1", "Page 1", "One", 1, 1),
        ("Page", "page-3", "Page 3", "Three\nand more", 3, 3),
    ]
    assert not found.problems


def test_words_that_were_divided_are_joined_and_spaces_tidied() -> None:
    found = read(lines(b"A long  exam-", b"ple of West-", b"Berlin in 1990-", b"1995  "))
    assert found.parts[0].text == "A long example of West-\nBerlin in 1990-\n1995"


def test_the_title_the_author_and_the_date_are_told() -> None:
    found = read(lines(b"x"), about=ABOUT)
    assert found.title == "The report"
    assert found.properties == {"pages": 1, "author": "A. Writer", "created": "2024-01-02T03:04:05+00:00"}
    strange = read(lines(b"x"), about=b"<< /Title 3 /Author [1] /CreationDate (yesterday) >>")
    assert (strange.title, strange.properties) == ("", {"pages": 1})


def test_links_of_a_page_are_told_and_broken_ones_left_out() -> None:
    found = read(lines(b"One"), b"", extra=LINKED)
    target = "https://example.org/a"
    assert found.links == [Link("link", target, "page-1", 1), Link("link", target, "", 2)]


def test_pages_of_pictures_are_told() -> None:
    found = read(b"", b"")
    assert not found.parts
    assert found.problems == ["None of its pages has text; they may be pictures."]


def locked(user: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(document(stream(lines(b"Secret"))))))
    writer.encrypt(user, "owner", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_an_encrypted_file_is_read_if_it_needs_no_password() -> None:
    assert parse(locked(""), "a.pdf").parts[0].text == "Secret"
    with pytest.raises(Unparsable, match=r"^It is encrypted\.$"):
        parse(locked("password"), "a.pdf")


def test_a_page_that_cannot_be_read_is_a_problem_and_the_others_are_read() -> None:
    broken = stream(b"no zlib").replace(b"/Length", b"/Filter /NoSuchFilter /Length")
    found = parse(document(stream(lines(b"One")), broken, stream(lines(b"Three"))), "a.pdf")
    assert [part.key for part in found.parts] == ["page-1", "page-3"]
    assert found.problems[0].startswith("Page 2 could not be read: ")


def test_of_a_file_that_was_cut_off_the_whole_pages_are_read() -> None:
    whole = document(stream(lines(b"One")), stream(lines(b"Two")))
    cut = whole[: whole.index(b"(Two)")]
    found = parse(cut, "a.pdf")
    assert [part.text for part in found.parts] == ["One"]
    assert found.problems[0].startswith("It is damaged")


def test_a_file_that_was_cut_off_anywhere_is_survived() -> None:
    whole = document(stream(lines(b"One")), stream(lines(b"Two")), extra=LINKED, about=ABOUT)
    for length in range(0, len(whole) - 10, 10):
        try:
            found = parse(whole[:length], "a.pdf")
        except Unparsable as error:
            assert str(error).endswith(".")
        else:
            assert found.problems


def test_a_stream_that_grows_too_large_is_not_read() -> None:
    bomb = stream(b" " * 40_000_000, packed=True)
    assert len(bomb) < 50_000
    found = parse(document(stream(lines(b"One")), bomb), "a.pdf")
    assert [part.key for part in found.parts] == ["page-1"]
    assert found.problems[0].startswith("Page 2 could not be read: ")


def test_a_stream_that_is_packed_again_and_again_is_not_read() -> None:
    content = zlib.compress(zlib.compress(b" " * 60_000_000, 9), 9)
    filters = b"/Filter [/FlateDecode /FlateDecode]"
    found = parse(document(stream(lines(b"One")), stream(content, entries=filters)), "a.pdf")
    assert [part.key for part in found.parts] == ["page-1"]


def test_forms_that_draw_each_other_again_and_again_come_to_an_end() -> None:
    resources = b"/Resources << /Font << /F 3 0 R >> /XObject << /X %d 0 R >> >>"
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] "
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [10 0 R] /Count 1 >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        10: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] %s /Contents 11 0 R >>" % (resources % 20),
        11: stream(lines(b"Top") + b" /X Do" * 20),
    }
    for number in range(20, 30):
        objects[number] = stream(b"/X Do " * 20 + lines(b"x"), entries=form + resources % (number + 1))
    began = time.process_time()
    found = parse(written(objects), "a.pdf")
    assert time.process_time() - began < 20
    assert found.parts[0].text.startswith("Top")


def test_work_is_bounded_over_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_LEAST_STEPS", 100)
    monkeypatch.setattr(pdf, "_STEPS_PER_BYTE", 0)
    found = read(lines(b"One"), lines(*[b"x"] * 100), lines(b"Three"))
    assert [part.key for part in found.parts] == ["page-1"]
    assert found.problems[0] == "It asks for too much work: what comes after page 2 was left out."


def test_searching_for_objects_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_MOST_SEARCHED", 0)
    missing = b" ".join(b"%d 0 R" % number for number in range(1000, 1100))
    data = document(stream(lines(b"One"))).replace(b"/Kids [10 0 R]", b"/Kids [10 0 R %s]" % missing)
    with pytest.raises(Unparsable, match="too many objects"):
        parse(data, "a.pdf")


def test_of_very_many_pages_the_first_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MOST_PAGES", 2)
    found = read(lines(b"One"), lines(b"Two"), lines(b"Three"))
    assert [part.key for part in found.parts] == ["page-1", "page-2"]
    assert found.properties["pages"] == 3
    assert found.problems == ["It has 3 pages; the first 2 were read."]


def test_pages_that_contain_themselves_are_unparsable() -> None:
    data = document(stream(lines(b"One"))).replace(b"/Kids [10 0 R]", b"/Kids [2 0 R ]")
    with pytest.raises(Unparsable):
        parse(data, "a.pdf")


def test_arrays_nested_deeply_are_survived() -> None:
    found = parse(document(stream(b"[" * 50_000 + b" TJ"), stream(lines(b"Two"))), "a.pdf")
    assert [part.key for part in found.parts] == ["page-2"]


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    whole = document(stream(lines(b"One")), extra=LINKED)
    with caplog.at_level(logging.DEBUG):
        parse(whole.replace(b"startxref", b"startxxxx"), "a.pdf")
    assert not caplog.records


def test_text_has_no_zeros() -> None:
    assert "\0" not in read(lines(b"a\\000b")).parts[0].text


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"no PDF at all", b"%PDF-1.7\n" + b"1 0 obj\n" * 1000])
def test_what_is_no_pdf_is_unparsable(data: bytes) -> None:
    with pytest.raises(Unparsable):
        parse(data, "a.pdf")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_survived(data: bytes, headed: bool) -> None:
    with pytest.raises(Unparsable, match=r"\.$"):
        parse(b"%PDF-1.7\n" + data if headed else data, "a.pdf")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_damage_is_survived(data: st.DataObject) -> None:
    whole = bytearray(document(stream(lines(b"One")), stream(lines(b"Two"), packed=True), extra=LINKED, about=ABOUT))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(bytes(whole), "a.pdf")
    except Unparsable as error:
        assert str(error).endswith(".")
