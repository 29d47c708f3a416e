"""PDF files: a part for each page that has text.

Reading is bounded, because a small PDF can ask for any amount of work: streams that grow when they are decompressed,
pages that draw the same form again and again, objects that have to be searched for. What goes beyond the bounds is
left out, and told.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any, TypeVar

from pypdf import Configuration, PageObject, PasswordType, PdfReader, apply_configuration
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError

from detent.documents.decoding import storable
from detent.documents.parsed import Link, Parsed, Part, Unparsable

MOST_PAGES = 5_000
MOST_LINKS = 10_000

_LARGEST_STREAM = 32_000_000
_LIMITS = Configuration(
    maximum_declared_stream_length=_LARGEST_STREAM,
    array_based_stream_maximum_output_length=_LARGEST_STREAM,
    lzw_maximum_output_length=_LARGEST_STREAM,
    run_length_maximum_output_length=_LARGEST_STREAM,
    zlib_maximum_output_length=_LARGEST_STREAM,
    brotli_maximum_output_length=_LARGEST_STREAM,
    stream_decoding_work_maximum_length=2 * _LARGEST_STREAM,
    stream_parsing_work_maximum_count=1_000_000,
    xform_maximum_invocations_per_extraction=500,
    jbig2dec_binary=None,  # no other program is started
    disable_legacy_handling=True,
)
_LEAST_STEPS = 2_000_000
_STEPS_PER_BYTE = 5
_MOST_SEARCHED = 2_000_000_000
"""Bytes that may be searched in all for objects that are not where the file says. Each search reads the whole file."""

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n[ \t]*(?=([^\W\d_]))")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_CATALOG = re.compile(rb"(\d{1,10})\s{1,9}(\d{1,5})\s{1,9}obj\b[^>]{0,300}?/Type\s{0,9}/Catalog\b")

logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # what it has to say about a file is told as a problem

_T = TypeVar("_T")


class _File(BytesIO):
    """The file, which pypdf may search as a whole only so often."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._searches = max(10, _MOST_SEARCHED // (len(data) + 1))

    def getbuffer(self) -> memoryview:
        self._searches -= 1
        if self._searches < 0:
            raise LimitReachedError("too many objects are not where the file says")
        return super().getbuffer()


class _Steps:
    """The steps of drawing that are left for all pages, so that the time is linear in the size of the file."""

    def __init__(self, size: int) -> None:
        self.left = _LEAST_STEPS + _STEPS_PER_BYTE * size
        self._written = 0

    def begin_page(self) -> None:
        self._written = 0

    def draw(self, _operator: Any, operands: Any, *_: Any) -> None:
        """Called before each operation. pypdf copies the text that it has of a page so far at many of them."""
        self.left -= 1 + _weight(operands) + self._written // 20_000
        if self.left < 0:
            raise LimitReachedError("the file asks for too much work")

    def write(self, text: str, *_: Any) -> None:
        """Called for each piece of text."""
        self._written += len(text)


def parse(data: bytes, name: str) -> Parsed:
    """Read a PDF file."""
    with apply_configuration(_LIMITS):
        try:
            reader, pages, problems = _opened(data)
            return _read(reader, pages, problems, _Steps(len(data)))
        except Unparsable:
            raise
        except Exception as error:  # pypdf raises almost anything when a file is malformed
            raise Unparsable(f"It cannot be read as a PDF file: {_reason(error)}.") from error


def _opened(data: bytes) -> tuple[PdfReader, int, list[str]]:
    """The file, and how many pages it has. Of a file that was cut off the list of objects is made again."""
    try:
        return *_open(data), []
    except Unparsable:
        raise
    except Exception as error:
        catalogs = list(_CATALOG.finditer(data))
        if not catalogs:
            raise
        number, generation = catalogs[-1].groups()
        ending = b"\ntrailer\n<< /Root %s %s R >>\nstartxref\n0\n%%%%EOF\n" % (number, generation)
        problem = f"It is damaged ({_reason(error)}); the pages that could be found were read."
        whole = data.rfind(b"endobj") + len(b"endobj")
        return *_open(data[:whole] + ending), [problem]


def _open(data: bytes) -> tuple[PdfReader, int]:
    try:
        reader = PdfReader(_File(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Unparsable("It is encrypted.")
        return reader, len(reader.pages)
    except (DependencyError, FileNotDecryptedError) as error:
        raise Unparsable("It is encrypted.") from error


def _read(reader: PdfReader, pages: int, problems: list[str], steps: _Steps) -> Parsed:
    parts: list[Part] = []
    links: list[Link] = []
    failed: list[tuple[int, str]] = []
    for number in range(1, min(pages, MOST_PAGES) + 1):
        if steps.left < 0:
            problems.append(f"It asks for too much work: what comes after page {number - 1} was left out.")
            break
        try:
            page = reader.pages[number - 1]
            text = _text(page, steps)
        except Exception as error:
            failed.append((number, _reason(error)))
            continue
        if text:
            key = f"page-{number}"
            parts.append(Part("Page", key, f"Page {number}", text, number, number))
        links.extend(_links(page, number, f"page-{number}" if text else "", MOST_LINKS - len(links)))
    problems += _problems(pages, len(parts), failed)
    if not parts and (failed or not pages):
        raise Unparsable(" ".join(problems))
    title, properties = _metadata(reader, pages)
    return Parsed("pdf", title=title, properties=properties, parts=parts, links=links, problems=problems)


def _problems(pages: int, read: int, failed: list[tuple[int, str]]) -> Iterator[str]:
    if not pages:
        yield "It has no pages."
    if pages > MOST_PAGES:
        yield f"It has {pages:,} pages; the first {MOST_PAGES:,} were read."
    if len(failed) == 1:
        yield f"Page {failed[0][0]} could not be read: {failed[0][1]}."
    elif failed:
        yield f"{len(failed):,} pages could not be read, the first of them page {failed[0][0]}: {failed[0][1]}."
    if pages and not read and not failed:
        yield "None of its pages has text; they may be pictures."


def _text(page: PageObject, steps: _Steps) -> str:
    steps.begin_page()
    text = page.extract_text(visitor_operand_before=steps.draw, visitor_text=steps.write)
    return _tidied(text)


def _tidied(text: str) -> str:
    """The text with its words whole and its whitespace plain. A hyphen at the end of a line is taken for a division if
    the next line goes on with a small letter."""
    plain = storable(text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n"))
    lines = (_SPACES.sub(" ", line).strip() for line in plain.split("\n"))
    joined = _HYPHEN.sub(lambda match: "" if match[1].islower() else match[0], "\n".join(lines))
    return _BLANK_LINES.sub("\n\n", joined.replace("\u00ad", "")).strip()


def _links(page: PageObject, number: int, part: str, most: int) -> list[Link]:
    """The addresses that the page links to. A link that cannot be read is none."""
    annotations = _had(lambda: list(page.get("/Annots", []).get_object())) or []
    targets = (_had(partial(_target, annotation)) for annotation in annotations[:most])
    return [Link("link", target, part, number) for target in dict.fromkeys(targets) if target]


def _target(annotation: Any) -> str:
    target = annotation.get_object()["/A"].get_object()["/URI"].get_object()
    text = target.decode("utf-8", "replace") if isinstance(target, bytes) else str(target)
    return storable(text).strip()


def _metadata(reader: PdfReader, pages: int) -> tuple[str, dict[str, Any]]:
    """The metadata of the file, as far as it can be read."""
    about = _had(lambda: reader.metadata)
    properties: dict[str, Any] = {"pages": pages}
    if about is None:
        return "", properties
    if author := _line(_had(lambda: about.author)):
        properties["author"] = author
    if created := _had(lambda: about.creation_date):
        properties["created"] = created.isoformat()
    return _line(_had(lambda: about.title)), properties


def _line(value: object) -> str:
    return " ".join(storable(value, " ").split()) if isinstance(value, str) else ""


def _had(wanted: Callable[[], _T]) -> _T | None:
    """The value, or None if the file is malformed there."""
    try:
        return wanted()
    except Exception:  # as above: almost anything
        return None


def _weight(operands: Any) -> int:
    """The number of values in the operands, including those in arrays and dictionaries."""
    weight, waiting = 0, [operands]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            weight += len(value)
            waiting.extend(inner for inner in value if isinstance(inner, (list, dict)))
    return weight


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    said = " ".join(storable(str(error), " ").split()).rstrip(".")
    return said[:200] or type(error).__name__
