"""Pictures and other binary files: what they are, however little of them is there."""

from __future__ import annotations

import io
import struct
import time
import wave
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.documents.media import parse_image, parse_media
from detent.documents.parsed import Unparsable


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    frame = struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xc0" + frame + b"\xff\xd9"


def sound(seconds: float) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(int(seconds * 8000) * 4))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "form", "size"),
    [
        (png(30, 20), "png", (30, 20)),
        (jpeg(300, 200), "jpeg", (300, 200)),
        (b"GIF89a" + struct.pack("<HH", 7, 5) + bytes(20), "gif", (7, 5)),
        (b"P6 # a comment\n12 34\n255\n" + bytes(9), "pnm", (12, 34)),
        (b"\x00\x00\x01\x00\x01\x00\x20\x00" + bytes(14), "ico", (32, 256)),
    ],
)
def test_the_format_and_the_size_of_a_picture_are_told(data: bytes, form: str, size: tuple[int, int]) -> None:
    found = parse_image(data, "whatever.bin")
    assert found.kind == "image"
    expected = {"format": form, "size_bytes": len(data), "width": size[0], "height": size[1]}
    assert found.properties == expected


def test_the_bytes_are_never_taken_for_a_path() -> None:
    with pytest.raises(Unparsable):
        parse_image(b"/etc/hostname", "a.png")


def test_a_picture_that_was_cut_off_anywhere_is_survived() -> None:
    for whole in (png(30, 20), jpeg(30, 20)):
        for length in range(0, len(whole), 10):
            try:
                found = parse_image(whole[:length], "a.png")
            except Unparsable:
                assert length < 8
            else:
                assert bool(found.problems) == ("width" not in found.properties)


def test_what_is_no_picture_is_unparsable() -> None:
    for data in (b"", b"no picture", bytes(100)):
        with pytest.raises(Unparsable, match="no picture"):
            parse_image(data, "a.png")


def test_endless_digits_are_no_size() -> None:
    began = time.process_time()
    found = parse_image(b"P1 " + b"1" * 5_000_000, "a.pbm")
    assert found.problems
    assert time.process_time() - began < 2


def test_an_svg_picture_tells_its_texts_and_its_size() -> None:
    data = b"""<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://localhost:9/svg.dtd">
    <svg xmlns="http://www.w3.org/2000/svg" width="120px" height="80" viewBox="0 0 3 2"><title>The  flow</title>
    <desc>How it goes.</desc><g><text x="1">From <tspan>here</tspan></text></g><style>no</style><!-- no --></svg>"""
    found = parse_image(data, "a.svg")
    assert (found.title, found.text) == ("The flow", "The flow\nHow it goes.\nFrom here")
    assert found.properties == {"format": "svg", "size_bytes": len(data), "width": 120, "height": 80}
    assert not found.problems


def test_an_svg_picture_without_a_size_in_pixels_has_that_of_its_view() -> None:
    found = parse_image(b'<svg width="100%" viewBox="0, 0, 30.4, 20"/>', "a.svg")
    assert (found.properties["width"], found.properties["height"]) == (30, 20)
    assert "width" not in parse_image(b'<svg width="1e999" viewBox="a b c d"/>', "a.svg").properties


@pytest.mark.parametrize("entity", ['SYSTEM "file:///etc/passwd"', 'SYSTEM "http://localhost:9/x"', '"expanded"'])
def test_entities_of_an_svg_picture_are_not_followed(entity: str) -> None:
    data = f"<!DOCTYPE svg [<!ENTITY e {entity}>]><svg><title>a &e; b</title></svg>"
    assert parse_image(data.encode(), "a.svg").text == "a &e; b"


def test_entities_that_grow_do_not_grow() -> None:
    declared = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<!DOCTYPE svg [<!ENTITY a0 "ha">{declared}]><svg><text x="&a9;">&a9;</text></svg>'
    found = parse_image(laughs.encode(), "a.svg")
    assert len(found.text) < 100


def test_an_svg_picture_that_was_cut_off_anywhere_is_survived() -> None:
    whole = b"<?xml version='1.0'?><svg width='9' height='9'><title>A title</title><text>Some text</text></svg>"
    for length in range(0, len(whole), 10):
        try:
            found = parse_image(whole[:length], "a.svg")
        except Unparsable:
            assert length < 50
        else:
            assert found.problems


def test_an_svg_picture_that_is_nested_deeply_or_huge_is_survived() -> None:
    assert parse_image(b"<svg><title>x</title>" + b"<g>" * 100_000, "a.svg").text == "x"
    assert parse_image(b"<svg>" + b" " * 20_000_001 + b"</svg>", "a.svg").problems


def test_html_is_no_svg_picture() -> None:
    with pytest.raises(Unparsable):
        parse_image(b"<html><svg/></html>", "a.svg")


@pytest.mark.parametrize(
    ("data", "name", "kind", "form"),
    [
        (b"ID3\x04" + bytes(20), "a.mp3", "audio", "mp3"),
        (b"\xff\xfb\x90" + bytes(20), "a", "audio", "mp3"),
        (b"fLaC" + bytes(20), "a.mp3", "audio", "flac"),
        (b"OggS" + bytes(20), "a.ogv", "video", "ogv"),
        (b"\0\0\0\x18ftypisom" + bytes(20), "a.mp4", "video", "mp4"),
        (b"\0\0\0\x18ftypqt  " + bytes(20), "a.bin", "video", "mov"),
        (b"\0\0\0\x18ftypM4A " + bytes(20), "a.bin", "audio", "m4a"),
        (b"\x1aE\xdf\xa3\x01\x42\x82\x84webm" + bytes(20), "a.bin", "video", "webm"),
        (b"RIFF\0\0\0\0AVI " + bytes(20), "a.avi", "video", "avi"),
        (b"PK\x03\x04" + bytes(20), "a.zip", "archive", "zip"),
        (b"PK\x03\x04" + bytes(20), "a.xlsx", "document", "xlsx"),
        (b"\x1f\x8b\x08" + bytes(20), "a.bin", "archive", "gzip"),
        (bytes(257) + b"ustar\0" + bytes(20), "a", "archive", "tar"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(20), "a.7z", "archive", "7z"),
        (b"SQLite format 3\0" + bytes(20), "a.db", "database", "sqlite"),
        (b"%PDF-1.7", "a.bin", "document", "pdf"),
        (b"\x7fELF" + bytes(20), "a", "program", "elf"),
        (b"\0\1\0\0\0" + bytes(20), "a.ttf", "font", "ttf"),
        (b"wOF2" + bytes(20), "a.woff2", "font", "woff2"),
        (png(1, 1), "a.mp4", "image", "png"),
        (b"\x01\x02\x03", "a.MOV", "video", "mov"),
        (b"\x01\x02\x03", "a.unknown", "binary", ""),
        (b"", "", "binary", ""),
    ],
)
def test_a_binary_file_is_told_by_its_first_bytes_and_its_name(data: bytes, name: str, kind: str, form: str) -> None:
    found = parse_media(data, name)
    assert found.kind == kind
    assert found.properties == {"format": form, "size_bytes": len(data)}


def test_the_length_of_a_sound_is_told() -> None:
    data = sound(1.5)
    assert parse_media(data, "a.wav").properties == {"format": "wav", "size_bytes": len(data), "seconds": 1.5}


def test_a_sound_that_was_cut_off_anywhere_is_survived() -> None:
    whole = sound(0.05)
    for length in range(0, len(whole), 10):
        found = parse_media(whole[:length], "a.wav")
        assert found.properties.get("seconds", 0) <= 0.05


def test_a_sound_that_claims_to_be_longer_than_the_file_is_not_believed() -> None:
    data = bytearray(sound(0.1))
    data[40:44] = struct.pack("<I", 0x7FFFFFFF)
    assert parse_media(bytes(data), "a.wav").properties.get("seconds", 0) < 1


@given(st.binary(max_size=100), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\0\0\0\0WAVEfmt "]))
def test_any_bytes_are_survived(data: bytes, head: bytes) -> None:
    found = parse_media(head + data, "a.wav")
    assert found.properties["size_bytes"] == len(head + data)
    try:
        parse_image(head + data, "a.svg")
    except Unparsable as error:
        assert str(error).endswith(".")


@given(
    st.binary(max_size=200),
    st.sampled_from(
        [b"II*\0", b"MM\0*", b"II+\0", b"\0\0\0\x18ftypheic", b"\0\0\0\x0cjP  \r\n\x87\n", b"RIFF\0\0\0\0WEBP", b"BM"]
    ),
)
def test_any_picture_is_survived(data: bytes, head: bytes) -> None:
    found = parse_image(head + data, "a")
    assert all(isinstance(value, (int, str)) for value in found.properties.values())


@given(st.text(alphabet="<>/&;!svgtexi[]\"'= abc", max_size=200))
def test_any_svg_is_survived(text: str) -> None:
    try:
        parse_image(f"<svg>{text}".encode(), "a.svg")
    except Unparsable as error:
        assert str(error).endswith(".")
