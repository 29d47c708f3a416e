"""Markdown: CommonMark with tables and front matter.

The sections are those of the headings that stand by themselves; one in a quote or in a list is text. What stands in a
document comes as events from its beginning to its end, each with the bytes that it was read from.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import yaml
from pyromark import Markdown, Options

from detent.documents import html
from detent.documents.decoding import storable
from detent.documents.outline import Outline
from detent.documents.parsed import Parsed
from detent.documents.plain import read

if TYPE_CHECKING:
    from pyromark.event import Range

DEEPEST = 60
"""Levels of quotes and lists in each other, an item of a list being a second one. What is deeper is plain text."""

LONGEST_FRONT_MATTER = 32_768
"""Characters of front matter that are read as YAML or TOML."""

_MOST_STEPS = 200_000_000
"""Levels times lines that the parser may have to go through: for each line it looks at all that is open above it."""

_MOST_INDENTED = 10
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([^\W\d][\w -]{0,60}?)[ \t]*[:=][ \t]*(\S.*)$", re.MULTILINE)
_MARKS = re.compile(r"\n[ \t>*+\-.)\d]{15,}")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d.{0,30})?)?)?")
_BAR = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(rb"[ \t]*(\d{1,9}[.)])")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#-]*")
_ATTRIBUTE = re.compile(r"\s(href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)
_MARKDOWN = Markdown(options=Options.ENABLE_TABLES)


def parse(data: bytes, name: str) -> Parsed:
    """Read a Markdown file."""
    text, problems = read(data)
    front_matter, body, faults = _front_matter(text)
    flat = _flattened(body)
    reader = _Reader(flat.encode())
    reader.read(_MARKDOWN.events_with_range(flat, merge_text=True))
    if reader.deepest > DEEPEST or flat is not body:
        faults.append(f"Quotes and lists more than {DEEPEST} levels deep were read as plain text.")
    title = front_matter.get("title")
    return reader.outline.parsed(
        "markdown",
        text.removesuffix("\n").count("\n") + 1,
        title=str(title).strip() if isinstance(title, str | int | float) else "",
        properties={"front_matter": front_matter} | _date(front_matter) if front_matter else {},
        problems=problems + faults,
    )


@dataclass
class _Table:
    """A table that is being read: its rows so far, and the cells of the row at hand. These reach to the byte `end`, the
    row to `row_end`."""

    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    end: int = 0
    row_end: int = 0


class _Reader:
    """Goes through the events of a document. Where they stand is told by what began before them."""

    def __init__(self, source: bytes) -> None:
        self.outline = Outline("MarkdownSection")
        self.deepest = 0
        self._source = source
        self._next_lines = list(accumulate(len(line) + 1 for line in source.split(b"\n")))
        """Of each line, the byte with which the next one begins."""
        self._pieces: list[str] = []
        """The pieces of the current block. The words of an item of a tight list stand in no block of their own."""
        self._heading = 0
        self._found: list[tuple[str, str, int]] = []
        """The links of the current heading, which belong to the section that it opens: kind, target and line."""
        self._table: _Table | None = None
        self._images = 0
        self._depth = 0
        self._lists = 0
        self._marker = ""
        self._tight = False
        self._fresh = True
        """Nothing has been written yet of the outermost list."""

    def read(self, events: Iterable[tuple[Any, Range]]) -> None:
        for event, span in events:
            if isinstance(event, str):
                self._read_break(event)
                continue
            kind, value = event.popitem()
            if (tags := _TAGS.get(kind)) is not None:
                reader = tags.get(value if isinstance(value, str) else next(iter(value)))
                if reader is not None:
                    reader(self, value, span)
            elif kind == "Code":
                self._read_code(value, span)
            elif kind == "InlineHtml":
                self._read_tag(value, span)
            else:
                self._pieces.append(value)

    def _read_break(self, kind: str) -> None:
        if kind == "Rule":
            self._flush()
        else:
            self._pieces.append(" " if kind == "SoftBreak" and self._table is None else "\n")

    def _read_code(self, code: str, span: Range) -> None:
        self._pieces.append(code)
        self._link("code", code, span)

    def _read_tag(self, tag: str, span: Range) -> None:
        if tag[:3].lower() == "<br":
            self._pieces.append("\n")
        for name, *values in _ATTRIBUTE.findall(tag):
            self._link("link" if name.lower() == "href" else "image", "".join(values), span)

    def _begin_link(self, value: Any, span: Range) -> None:
        link = value["Link"]
        address = link["dest_url"]
        self._link("link", f"mailto:{address}" if link["link_type"] == "Email" else address, span)

    def _begin_image(self, value: Any, span: Range) -> None:
        self._link("image", value["Image"]["dest_url"], span)
        self._images += 1

    def _end_image(self, value: Any, span: Range) -> None:
        self._images -= 1

    def _link(self, kind: str, target: str, span: Range) -> None:
        """Note what is linked to. In the words that stand for an image, nothing is."""
        if self._images:
            return
        if self._heading:
            self._found.append((kind, target, self._line(span)))
        else:
            self.outline.link(kind, target, self._line(span))

    def _line(self, span: Range) -> int:
        return bisect_right(self._next_lines, span["start"]) + 1

    def _begin_block(self, value: Any, span: Range) -> None:
        self._flush()

    def _flush(self) -> None:
        """End what does not end by itself before a block begins: the words of an item of a tight list, and a table that
        was torn."""
        if self._pieces:
            self._tight = True
            self._write(self._words(), tight=True)
        if self._table is not None:
            self._write_table(self._table)

    def _words(self) -> str:
        words = "".join(self._pieces).strip()
        self._pieces.clear()
        return words

    def _write(self, block: str, *, tight: bool = False) -> None:
        if block and not block.isspace():
            self.outline.write(self._marker + block, tight=tight and not self._fresh)
            self._fresh = False
            self._marker = ""

    def _begin_paragraph(self, value: Any, span: Range) -> None:
        if self._table is None:
            self._flush()

    def _end_paragraph(self, value: Any, span: Range) -> None:
        """A paragraph in a table is what the parser makes of the other rows when too many cells were missing. It takes
        all that comes after for a part of that table."""
        if self._table is None:
            self._tight = False
            self._write(self._words())
        else:
            self._table.rows += (row.strip("| \t") for row in self._words().split("\n"))
            self._write_table(self._table)

    def _begin_heading(self, value: Any, span: Range) -> None:
        self._flush()
        self._heading = 0 if self._depth else int(value["Heading"]["level"][1:])

    def _end_heading(self, value: Any, span: Range) -> None:
        words = self._words()
        if not self._heading:
            self._write(words, tight=self._tight)
            return
        self.outline.open(self._heading, " ".join(words.split()), self._line(span))
        for each in self._found:
            self.outline.link(*each)
        self._found.clear()
        self._heading = 0

    def _begin_container(self, value: Any, span: Range) -> None:
        self._flush()
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)

    def _end_container(self, value: Any, span: Range) -> None:
        self._flush()
        self._depth -= 1

    def _begin_list(self, value: Any, span: Range) -> None:
        self._begin_container(value, span)
        self._fresh = self._fresh if self._lists else True
        self._lists += 1

    def _end_list(self, value: Any, span: Range) -> None:
        self._end_container(value, span)
        self._lists -= 1
        self._marker = ""
        self._tight = False

    def _begin_item(self, value: Any, span: Range) -> None:
        self._begin_container(value, span)
        number = _NUMBER.match(self._source, span["start"])
        bullet = number[1].decode() if number else "-"
        indent = "  " * min(self._lists - 1, _MOST_INDENTED)
        self._marker = f"{indent}{bullet} " if self._depth <= DEEPEST else ""

    def _begin_code(self, value: Any, span: Range) -> None:
        self._flush()
        block = value["CodeBlock"]
        language = _LANGUAGE.search(block["Fenced"][:100]) if isinstance(block, dict) else None
        if language:
            self.outline.add_language(language[0])

    def _end_code(self, value: Any, span: Range) -> None:
        self._write("".join(self._pieces).strip("\n"))
        self._pieces.clear()

    def _end_html(self, value: Any, span: Range) -> None:
        parsed = html.fragment("".join(self._pieces).rstrip())
        self._pieces.clear()
        blocks = [parsed.text, *(block for part in parsed.parts for block in (part.title, part.text))]
        self._write("\n\n".join(filter(None, blocks)))
        before = self._line(span) - 1
        for link in parsed.links:
            self.outline.link(link.kind, link.target, before + link.line)

    def _begin_table(self, value: Any, span: Range) -> None:
        self._flush()
        self._table = _Table()

    def _begin_row(self, value: Any, span: Range) -> None:
        if self._table is not None:
            self._table.end, self._table.row_end = span["start"], span["end"]

    def _end_cell(self, value: Any, span: Range) -> None:
        """To a row that is shorter than the header the parser adds cells, which stand after its end."""
        if self._table is not None and span["start"] < self._table.row_end:
            self._table.cells.append(" ".join("".join(self._pieces).split()))
            self._table.end = span["end"]
        self._pieces.clear()

    def _end_row(self, value: Any, span: Range) -> None:
        """Of a row that is longer than the header the parser leaves out the last cells, which are read as they are."""
        if self._table is None or span["start"] == span["end"]:
            return
        cells, self._table.cells = self._table.cells, []
        if more := self._source[self._table.end : span["end"]].strip(b"| \t\n"):
            cells += (" ".join(cell.split()) for cell in _BAR.split(more.decode()))
        self._table.rows.append(" | ".join(cells))

    def _end_table(self, value: Any, span: Range) -> None:
        if self._table is not None:
            self._write_table(self._table)

    def _write_table(self, table: _Table) -> None:
        self._write("\n".join(table.rows))
        self.outline.add_table()
        self._table = None


_BEGINNINGS = {
    "Paragraph": _Reader._begin_paragraph,
    "HtmlBlock": _Reader._begin_block,
    "Heading": _Reader._begin_heading,
    "BlockQuote": _Reader._begin_container,
    "List": _Reader._begin_list,
    "Item": _Reader._begin_item,
    "CodeBlock": _Reader._begin_code,
    "Table": _Reader._begin_table,
    "TableHead": _Reader._begin_row,
    "TableRow": _Reader._begin_row,
    "Link": _Reader._begin_link,
    "Image": _Reader._begin_image,
}
_ENDINGS = {
    "Paragraph": _Reader._end_paragraph,
    "HtmlBlock": _Reader._end_html,
    "Heading": _Reader._end_heading,
    "BlockQuote": _Reader._end_container,
    "List": _Reader._end_list,
    "Item": _Reader._end_container,
    "CodeBlock": _Reader._end_code,
    "Table": _Reader._end_table,
    "TableHead": _Reader._end_row,
    "TableRow": _Reader._end_row,
    "TableCell": _Reader._end_cell,
    "Image": _Reader._end_image,
}
_TAGS = {"Start": _BEGINNINGS, "End": _ENDINGS}


def _flattened(body: str) -> str:
    """A document that the parser reads in a time that does not grow with the square of its length: lines in which too
    many quotes and lists may stand lose the marks of these."""
    lines = body.count("\n") + 1
    if 4 * len(body) * lines <= _MOST_STEPS:
        return body
    most = max(DEEPEST, _MOST_STEPS // lines)
    flat = _MARKS.sub(lambda marks: marks[0] if _most_levels(marks[0]) <= most else "\n> ", "\n" + body)[1:]
    return body if flat == body else flat


def _most_levels(marks: str) -> int:
    """As many levels as the beginning of a line could be in. A list takes two columns, of which a tab has four."""
    return 0 if marks.isspace() else marks.count(">") + marks.count(" ") + 4 * marks.count("\t")


def _front_matter(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """The values at the top of a document; the document with as many empty lines in their place; and sentences on what
    is wrong with them. Between two rulers there may also just be text, which then is none."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text, []
    faults = []
    try:
        if len(match[2]) > LONGEST_FRONT_MATTER:
            raise ValueError
        values = _Values().of(_LOADER(match[2]).get_single_data() if match[1] == "---" else tomllib.loads(match[2]))
    except Exception:  # PyYAML lets out whatever comes up in making a value of a text that is none
        fields = _FIELD.findall(match[2][:LONGEST_FRONT_MATTER])
        values = {name: value.strip(" \"'") for name, value in fields}
        faults = ["The front matter is malformed; only its plain lines were read."]
    if not isinstance(values, dict) or (faults and not values):
        return {}, text, []
    return values, "\n" * match[0].count("\n") + text[match.end() :], faults


def _date(front_matter: Mapping[str, Any]) -> dict[str, str]:
    date = str(front_matter.get("date", ""))
    return {"date": date} if _DATE.fullmatch(date) else {}


class _Values:
    """Values of front matter as JSON can hold them. What aliases multiply is refused before it fills the memory."""

    def __init__(self) -> None:
        self._left = 4 * LONGEST_FRONT_MATTER

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1 + (len(value) if isinstance(value, str) else 0)
        if self._left < 0 or depth > DEEPEST:
            raise ValueError("too much")
        if isinstance(value, dict):
            return {self.of(str(key)): self.of(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(each, depth + 1) for each in value]
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if value is None or isinstance(value, bool) or (isinstance(value, int) and value.bit_length() < 64):
            return value
        if isinstance(value, float) and abs(value) < float("inf"):
            return value
        return storable(str(value))


_LOADER = type(
    "_Loader",
    (yaml.SafeLoader,),
    {
        # without `<<`, which copies what it names, and so multiplies it from level to level
        "yaml_implicit_resolvers": {
            first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":merge")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
    },
)
