"""The kinds of files and their parsers, chosen by the file's name or, where that says nothing, by its first bytes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from detent.documents.code import languages
from detent.documents.decoding import is_binary
from detent.documents.parsed import Parsed

Parse = Callable[[bytes, str], Parsed]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. `version` is another number whenever its parser gives something else for the same file: these are
    then parsed again. The parser is imported when the first file of its kind is parsed."""

    name: str
    version: int
    place: str

    @property
    def parse(self) -> Parse:
        return _parser(self.place)


@lru_cache
def _parser(place: str) -> Parse:
    module, name = place.split(":")
    parse: Parse = getattr(importlib.import_module(f"detent.documents.{module}"), name)
    return parse


PLAIN = Format("text", 1, "plain:parse")
MEDIA = Format("media", 1, "media:parse_media")
CODE = Format("code", 2, "code.parsing:parse")

_KINDS = {
    Format("markdown", 3, "markdown:parse"): "md markdown mdown mkd mdx",
    Format("restructured", 3, "restructured:parse"): "rst rest",
    Format("html", 3, "html:parse"): "html htm xhtml",
    Format("pdf", 1, "pdf:parse"): "pdf",
    Format("docx", 3, "docx:parse"): "docx docm dotx",
    Format("notebook", 3, "notebook:parse"): "ipynb",
    Format("json", 2, "data.json_file:parse"): "json geojson webmanifest",
    Format("jsonl", 2, "data.json_file:parse_lines"): "jsonl ndjson",
    Format("yaml", 1, "data.yaml_file:parse"): "yaml yml",
    Format("toml", 2, "data.toml_file:parse"): "toml",
    Format("image", 1, "media:parse_image"): "png jpg jpeg jpe gif webp bmp tif tiff svg ico avif heic",
    MEDIA: (
        "mp3 wav flac ogg oga opus m4a aac mp4 mov m4v mkv webm avi wmv zip gz tgz bz2 xz 7z rar tar zst jar war whl "
        "woff woff2 ttf otf eot so dll dylib exe bin o a class pyc sqlite db parquet npy npz pkl pt onnx wasm iso dmg"
    ),
}
_BY_ENDING = {ending: kind for kind, endings in _KINDS.items() for ending in endings.split()}


def format_of(path: str) -> Format:
    """The kind that a file is by its name; plain text if the name says nothing."""
    name = path.rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    ending = ending.lower() if dot else ""
    return CODE if ending in languages.FOLDERS else _BY_ENDING.get(ending, PLAIN)


def parse(data: bytes, path: str) -> Parsed:
    """Parse a file. One whose name says that it is text, and whose bytes are not, is read as media."""
    kind = format_of(path)
    if kind is PLAIN and is_binary(data):
        kind = MEDIA
    return kind.parse(data, path)
