"""Pictures, sound, video, archives and other binary files: what they are, by their first bytes and their name.

Nothing of them is decoded but the size of a picture, the length of a sound, and the texts of an SVG picture.
"""

from __future__ import annotations

import re
import wave
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import imagesize
from lxml import etree

from detent.documents.parsed import Parsed, Unparsable

LARGEST_SVG = 20_000_000
"""Bytes of an SVG picture that is read; its elements take many times as much memory."""

LONGEST_TEXT = 100_000

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "jp2"),
    (b"MM\x00*", "tiff"),
    (b"II*\x00", "tiff"),
    (b"II+\x00", "tiff"),
    (b"BM", "bmp"),
    (b"\x00\x00\x01\x00", "ico"),
)
_PORTABLE = re.compile(rb"P[1-6][\s#]")
_HEIF = {b"avif": "avif", b"avis": "avif", b"heic": "heic", b"heix": "heic", b"hevc": "heic", b"mif1": "heif"}

_SIGNATURES = (
    (0, b"ID3", "audio", "mp3"),
    (0, b"fLaC", "audio", "flac"),
    (0, b"OggS", "audio", "ogg"),
    (0, b"MThd", "audio", "midi"),
    (8, b"WAVE", "audio", "wav"),
    (8, b"AVI ", "video", "avi"),
    (0, b"\x1aE\xdf\xa3", "video", "mkv"),
    (0, b"FLV\x01", "video", "flv"),
    (0, b"\x00\x00\x01\xba", "video", "mpeg"),
    (0, b"PK\x03\x04", "archive", "zip"),
    (0, b"PK\x05\x06", "archive", "zip"),
    (0, b"\x1f\x8b", "archive", "gzip"),
    (0, b"BZh", "archive", "bzip2"),
    (0, b"\xfd7zXZ\x00", "archive", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "archive", "zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "archive", "7z"),
    (0, b"Rar!\x1a\x07", "archive", "rar"),
    (257, b"ustar", "archive", "tar"),
    (0, b"SQLite format 3\x00", "database", "sqlite"),
    (0, b"PAR1", "data", "parquet"),
    (0, b"%PDF-", "document", "pdf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document", "ole"),
    (0, b"\x7fELF", "program", "elf"),
    (0, b"MZ", "program", "exe"),
    (0, b"\xcf\xfa\xed\xfe", "program", "macho"),
    (0, b"\xca\xfe\xba\xbe", "program", "class"),
    (0, b"\x00asm", "program", "wasm"),
    (0, b"\x00\x01\x00\x00\x00", "font", "ttf"),
    (0, b"OTTO", "font", "otf"),
    (0, b"ttcf", "font", "ttc"),
    (0, b"wOFF", "font", "woff"),
    (0, b"wOF2", "font", "woff2"),
)
_ENDINGS = {
    "audio": ("mp3", "wav", "flac", "ogg", "oga", "opus", "m4a", "aac", "midi", "wma", "aiff"),
    "video": ("mp4", "mov", "m4v", "webm", "mkv", "avi", "ogv", "mpeg", "mpg", "flv", "wmv"),
    "archive": ("zip", "gz", "tgz", "tar", "bz2", "xz", "zst", "7z", "rar", "jar", "whl", "apk", "iso"),
    "document": ("pdf", "doc", "xls", "ppt", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"),
    "font": ("ttf", "otf", "ttc", "woff", "woff2"),
    "database": ("sqlite", "sqlite3", "db"),
    "data": ("parquet", "npy", "npz", "pkl", "safetensors"),
    "program": ("exe", "dll", "so", "dylib", "o", "a", "class", "pyc", "wasm"),
}
_KIND_OF = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings}
_PACKED = frozenset({"zip", "ole", "gzip", "ogg", "mp4", "mkv"})
"""Formats in which others are packed: what is packed is told by the ending of the name."""

_SIZED = {"pnm": 4096}
"""Bytes of a format that are searched for its size, where that would take more than linear time."""

_LENGTH = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{0,9})?)(?:px)?\s*")


def parse_image(data: bytes, name: str) -> Parsed:
    """Read a picture's format and its size in pixels, and the texts of an SVG picture."""
    form = _picture(data)
    if not form and (_ending(name) == "svg" or b"<svg" in data[:4096]):
        return _svg(data)
    if not form:
        raise Unparsable("It is no picture of a known format.")
    properties: dict[str, Any] = {"format": form, "size_bytes": len(data)}
    width, height = _ico_size(data) if form == "ico" else imagesize.get(BytesIO(data[: _SIZED.get(form, len(data))]))
    if width < 1 or height < 1:
        return Parsed("image", properties=properties, problems=("Its size could not be read; it may be cut off.",))
    return Parsed("image", properties={**properties, "width": int(width), "height": int(height)})


def parse_media(data: bytes, name: str) -> Parsed:
    """Tell what a binary file is."""
    kind, form = _kind(data, _ending(name))
    properties: dict[str, Any] = {"format": form, "size_bytes": len(data)}
    if form != "wav":
        return Parsed(kind, properties=properties)
    seconds = _seconds(data)
    if seconds is None:
        return Parsed(kind, properties=properties, problems=("Its length could not be read.",))
    return Parsed(kind, properties={**properties, "seconds": seconds})


def _picture(data: bytes) -> str:
    """The format of a picture by its first bytes, "" if they are none."""
    if data[4:8] == b"ftyp":
        return _HEIF.get(data[8:12], "")
    if data.startswith(b"RIFF"):
        return "webp" if data[8:12] == b"WEBP" else ""
    if _PORTABLE.match(data):
        return "pnm"
    return next((form for signature, form in _PICTURES if data.startswith(signature)), "")


def _ico_size(data: bytes) -> tuple[int, int]:
    """The size of the first picture in the file, of which 0 stands for 256."""
    return (data[6] or 256, data[7] or 256) if len(data) >= 22 and data[4:6] != b"\x00\x00" else (-1, -1)


def _svg(data: bytes) -> Parsed:
    properties: dict[str, Any] = {"format": "svg", "size_bytes": len(data)}
    if len(data) > LARGEST_SVG:
        problem = f"It has {len(data):,} bytes; of SVG pictures with more than {LARGEST_SVG:,} no text is read."
        return Parsed("image", properties=properties, problems=(problem,))
    bounds = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    parser = etree.XMLParser(**bounds, recover=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unparsable(f"It is no SVG picture: {error}.") from error
    if root is None or _local(root) != "svg":
        raise Unparsable("It is no SVG picture.")
    title = next((_text(child) for child in root if _local(child) == "title"), "")
    text = "\n".join(filter(None, map(_text, _told(root))))[:LONGEST_TEXT]
    problems = [f"It is malformed at line {parser.error_log[0].line}."] if len(parser.error_log) else []
    return Parsed("image", title, text, {**properties, **_svg_size(root)}, problems=problems)


def _svg_size(root: Any) -> dict[str, int]:
    """The picture's size in pixels; without one in pixels, that of its view."""
    view = (root.get("viewBox") or "").replace(",", " ").split()[2:4]
    sizes = [_LENGTH.fullmatch(root.get(name) or "") for name in ("width", "height")]
    if not all(sizes):
        sizes = [_LENGTH.fullmatch(length) for length in view]
    numbers = [round(float(size[1])) for size in sizes if size]
    return dict(zip(("width", "height"), numbers, strict=True)) if len(numbers) == 2 else {}


def _told(root: Any) -> Iterator[Any]:
    """The elements that are read, those in them excepted."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if _local(element) in {"title", "desc", "text"}:
            yield element
        else:
            waiting.extend(reversed(element))


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _kind(data: bytes, ending: str) -> tuple[str, str]:
    """The kind of the file, and its format. The first bytes count more than the name."""
    found = _signature(data)
    named = _KIND_OF.get(ending)
    if not found:
        return named or "binary", ending if named else ""
    kind, form = found
    if form in _PACKED and named:
        return named, ending
    return kind, form


def _signature(data: bytes) -> tuple[str, str] | None:
    if data[4:8] == b"ftyp":
        return ("audio", "m4a") if data[8:11] == b"M4A" else ("video", "mov" if data[8:10] == b"qt" else "mp4")
    if data.startswith(b"\x1aE\xdf\xa3") and b"webm" in data[:64]:
        return "video", "webm"
    if data[:1] == b"\xff" and data[1:2] in (b"\xfb", b"\xf3", b"\xf2"):
        return "audio", "mp3"
    picture = _picture(data)
    known = ((kind, form) for place, sign, kind, form in _SIGNATURES if data[place : place + len(sign)] == sign)
    return next(known, ("image", picture) if picture else None)


def _seconds(data: bytes) -> float | None:
    """The length of a sound, as far as it is there."""
    try:
        with wave.open(BytesIO(data)) as sound:
            frames = min(sound.getnframes(), len(data) // (sound.getsampwidth() * sound.getnchannels()))
            return float(round(frames / sound.getframerate(), 3))
    except (wave.Error, EOFError, ValueError, ArithmeticError, RuntimeError):
        return None


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
