"""Markdown: CommonMark with tables and front matter.

The sections are those of the headings that stand by themselves; one in a quote or in a list is text. Blocks are found
for the whole document first, since a link may be defined anywhere; then the inline text of each is read by itself.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

from detent.sources.files.parsing import html
from detent.sources.files.parsing.decoding import storable
from detent.sources.files.parsing.outline import Outline
from detent.sources.files.parsing.parsed import Parsed
from detent.sources.files.parsing.plain import read

DEEPEST = 60
"""Levels of quotes and lists in each other, an item of a list being a second one. What is deeper is plain text."""

LONGEST_FRONT_MATTER = 32_768
"""Characters of front matter that are read as YAML or TOML."""

_LONGEST_SPAN = 16_000
_STRETCH = 4000
"""Characters of inline text that are read at once, and to how many longer text is cut: where brackets are not closed,
the time grows with the square."""

_MOST_INDENTED = 10
_TOO_DEEP = "too deep"
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([^\W\d][\w -]{0,60}?)[ \t]*[:=][ \t]*(\S.*)$", re.MULTILINE)
_RULER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_BAR = re.compile(r"(?<!\\)\|")
_NO_MARKUP = re.compile(r"[^\\`*_\[\]<&!\n]*")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#-]*")
_ATTRIBUTE = re.compile(r"\s(href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)

_Found = list[tuple[str, str, int]]
"""Links, images and code: the kind, the target, and the line."""


def parse(data: bytes, name: str) -> Parsed:
    """Read a Markdown file."""
    text, problems = read(data)
    front_matter, body, faults = _front_matter(text)
    environment: MutableMapping[str, Any] = {}
    tokens = _BLOCKS.parse(body, environment)
    reader = _Reader(environment)
    reader.read(tokens)
    if environment.get(_TOO_DEEP):
        faults.append(f"Quotes and lists more than {DEEPEST} levels deep were read as plain text.")
    title = front_matter.get("title")
    return reader.outline.parsed(
        "markdown",
        len(text.removesuffix("\n").split("\n")),
        title=str(title).strip() if isinstance(title, str | int | float) else "",
        properties={"front_matter": front_matter} if front_matter else {},
        problems=problems + faults,
    )


class _Reader:
    """Goes through the blocks of a document, which come one after another: how deep they stand is told by what opened
    before them."""

    def __init__(self, environment: MutableMapping[str, Any]) -> None:
        self.outline = Outline("MarkdownSection")
        self._environment = environment
        self._heading = 0
        self._lists = 0
        self._marker = ""
        self._tight = False
        self._fresh = True
        """Nothing has been written yet of the outermost list."""
        self._readers: dict[str, Callable[[Token], None]] = {
            "heading_open": self._begin_heading,
            "heading_close": self._end_heading,
            "bullet_list_open": self._begin_list,
            "ordered_list_open": self._begin_list,
            "bullet_list_close": self._end_list,
            "ordered_list_close": self._end_list,
            "list_item_open": self._begin_item,
            "paragraph_open": self._begin_paragraph,
            "inline": self._read_inline,
            "fence": self._read_code,
            "code_block": self._read_code,
            "html_block": self._read_html,
            "table": self._read_table,
        }

    def read(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            if (reader := self._readers.get(token.type)) is not None:
                reader(token)

    def _begin_heading(self, token: Token) -> None:
        self._heading = int(token.tag[1:]) if token.level == 0 else 0

    def _end_heading(self, token: Token) -> None:
        self._heading = 0

    def _begin_list(self, token: Token) -> None:
        self._fresh = self._fresh if self._lists else True
        self._lists += 1

    def _end_list(self, token: Token) -> None:
        self._lists -= 1
        self._marker = ""
        self._tight = False

    def _begin_item(self, token: Token) -> None:
        bullet = f"{token.info}{token.markup}" if token.info else "-"
        self._marker = "  " * min(self._lists - 1, _MOST_INDENTED) + bullet + " "

    def _begin_paragraph(self, token: Token) -> None:
        self._tight = token.hidden

    def _write(self, block: str, *, tight: bool = False) -> None:
        self.outline.write(self._marker + block if block else "", tight=tight and not self._fresh)
        self._fresh = self._fresh and not block
        self._marker = ""

    def _read_inline(self, token: Token) -> None:
        line = _line(token)
        content = token.content.lstrip(" \t>*+-") if token.level > DEEPEST else token.content
        text, found = self._spans(content, line)
        if self._heading:
            self.outline.open(self._heading, " ".join(text.split()), line)
        else:
            self._write(text.strip(), tight=self._tight)
        for each in found:
            self.outline.link(*each)

    def _read_code(self, token: Token) -> None:
        self._write(token.content.strip("\n"))
        if language := _LANGUAGE.search(token.info[:100]):
            self.outline.add_language(language[0])

    def _read_html(self, token: Token) -> None:
        parsed = html.fragment(token.content)
        blocks = [parsed.text, *(block for part in parsed.parts for block in (part.title, part.text))]
        self._write("\n\n".join(filter(None, blocks)))
        for link in parsed.links:
            self.outline.link(link.kind, link.target, _line(token) + link.line - 1)

    def _read_table(self, token: Token) -> None:
        rows = []
        for line, cells in token.meta["rows"]:
            read = [self._spans(cell, line) for cell in cells]
            rows.append(" | ".join(" ".join(text.split()) for text, _ in read))
            for each in (each for _, found in read for each in found):
                self.outline.link(*each)
        self._write("\n".join(rows))
        self.outline.add_table()

    def _spans(self, content: str, line: int) -> tuple[str, _Found]:
        """Inline text as plain text, with what it links to."""
        if _NO_MARKUP.fullmatch(content):
            return content, []
        pieces: list[str] = []
        found: _Found = []
        for stretch in _stretches(content):
            children: list[Token] = []
            _INLINE.inline.parse(stretch, _INLINE, self._environment, children)
            for child in children:
                pieces.append(_plain(child))
                found.extend((kind, target, line) for kind, target in _targets(child))
                line += child.type in {"softbreak", "hardbreak"}
        return "".join(pieces), found


def _stretches(content: str) -> Iterator[str]:
    """Long text in pieces that end with a line or a word."""
    at, most = 0, _STRETCH if len(content) > _LONGEST_SPAN else _LONGEST_SPAN
    while at < len(content):
        end = at + most
        if end < len(content):
            end = max(content.rfind("\n", at, end), content.rfind(" ", at + most // 2, end)) + 1 or end
        yield content[at:end]
        at = end


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


def _plain(token: Token) -> str:
    if token.type == "softbreak":
        return " "
    if token.type == "hardbreak" or (token.type == "html_inline" and token.content[:3].lower() == "<br"):
        return "\n"
    if token.type == "image":
        return "".join(map(_plain, token.children or ()))
    return token.content if token.type in {"text", "text_special", "code_inline"} else ""


def _targets(token: Token) -> Iterator[tuple[str, str]]:
    if token.type == "link_open":
        yield "link", str(token.attrs.get("href", ""))
    elif token.type == "image":
        yield "image", str(token.attrs.get("src", ""))
    elif token.type == "code_inline":
        yield "code", token.content
    elif token.type == "html_inline":
        for name, *values in _ATTRIBUTE.findall(token.content):
            yield "link" if name.lower() == "href" else "image", "".join(values)


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


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for tables, as one token with all rows. The parser's own makes several tokens of each cell, and cells
    where there are none, so that a small file may fill the memory."""
    if start + 1 >= end or state.is_code_block(start) or state.sCount[start + 1] < state.blkIndent:
        return False
    header, ruler = _source(state, start), _source(state, start + 1)
    if "|" not in header or state.is_code_block(start + 1) or not _RULER.fullmatch(ruler):
        return False
    if len(_cells(header)) != len(_cells(ruler)):
        return False
    if silent:
        return True
    line = start + 2
    rows = [(start + 1, _cells(header))]
    while line < end and not _ends_table(state, line, end):
        rows.append((line + 1, _cells(_source(state, line))))
        line += 1
    token = state.push("table", "table", 0)
    token.map = [start, line]
    token.meta = {"rows": rows}
    state.line = line
    return True


def _ends_table(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line) or state.isEmpty(line):
        return True
    return any(rule(state, line, end, True) for rule in state.md.block.ruler.getRules("blockquote"))


def _source(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _cells(row: str) -> list[str]:
    inner = row.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def _bounded(rule: RuleFuncBlockType) -> RuleFuncBlockType:
    """A rule for quotes or lists that stops to hold where they stand too deep. By itself the parser would leave out
    what is deeper, and all that comes after it."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if state.level < DEEPEST:
            return rule(state, start, end, silent)
        if rule(state, start, end, True):
            state.env[_TOO_DEEP] = True
        return False

    return bounded


def _parser(deepest: int) -> MarkdownIt:
    """A parser that leaves the targets of links as they are written."""
    parser = MarkdownIt("commonmark", {"maxNesting": deepest})
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


_BLOCKS = _parser(DEEPEST + 10).enable("table")
_BLOCKS.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
_BLOCKS.block.ruler.at("list", _bounded(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
_BLOCKS.block.ruler.at("blockquote", _bounded(blockquote), {"alt": ["paragraph", "reference", "blockquote", "list"]})
_BLOCKS.core.ruler.disable(["inline", "text_join"])
_INLINE = _parser(8)
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
