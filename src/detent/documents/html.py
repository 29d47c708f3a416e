"""HTML: the text that a reader sees, in the sections of its headings.

Before the parser sees a file its tags are gone through once: each heading and link is marked with its line, which the
parser does not tell; and elements that mean nothing here, or that stand too deep in each other, lose their tags, for
they could cost the parser time and memory that grow with the square of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from detent.documents.outline import Outline
from detent.documents.parsed import Parsed
from detent.documents.plain import read

DEEPEST = 256
"""Elements in each other that are heeded."""

_LONGEST_TAG = 10_000
_DEEPEST_ROW = 3
_MOST_INDENTED = 10
_LINE = "detent-line"
_NOTHING = "<meta"
"""An element without content, allowed everywhere, which takes the place of a tag that is dropped."""

_TAG = re.compile(
    r"(?P<comment><!--(?:-?>|.*?(?:-->|\Z)))"
    r"|<(?P<raw>script|style|title|textarea)(?=[\s/>]).*?(?:</(?P=raw)(?=[\s/>])|\Z)"
    r"|<(?P<slash>/?)(?P<name>[a-z][^\s/>]*)",
    re.DOTALL | re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")
_CHARSET = re.compile(
    rb"<meta[^>]{1,200}charset=[\"']?((?:iso-8859-|windows-|cp|koi8-|shift_jis|euc-|gb|big5)[\w-]*)", re.IGNORECASE
)

_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_MARKED = {*_HEADINGS, "a", "img", "code", "tt", "samp"}
_CODE = {"code", "tt", "samp"}
_FORMATS = {"b", "big", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "u", "html", "body"}
_SHOWN = {"title", "textarea"}
_ROLES = {"navigation", "search"}


def _names(*lines: str) -> set[str]:
    return {name for line in lines for name in line.split()}


_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_ENDED_BY_THE_NEXT = _names("a p li dt dd tr td th thead tbody tfoot option")
_SKIPPED = _names("script style nav template noscript svg canvas iframe object head title select -comment !doctype")
_BLOCKS = _names(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure",
    "footer form header hgroup hr legend main menu p section summary table",
)

_Leave = Callable[[], None]


def parse(data: bytes, name: str) -> Parsed:
    """Read an HTML file."""
    text, problems = read(_recoded(data))
    return _parsed(text, problems)


def fragment(text: str) -> Parsed:
    """Read HTML that stands in another document."""
    return _parsed(text, [])


def _parsed(text: str, problems: list[str]) -> Parsed:
    tree = LexborHTMLParser(_prepared(text))
    reader = _Reader()
    if tree.root is not None:
        reader.read(tree.root)
    last = text.removesuffix("\n").count("\n") + 1
    return reader.outline.parsed("html", last, title=_title(tree), properties={}, problems=problems)


def _recoded(data: bytes) -> bytes:
    """A file that is no UTF-8, and says in which encoding it is, in UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        if charset := _CHARSET.search(data, 0, 4096):
            try:
                return data.decode(charset[1].decode("ascii", "replace"), "replace").encode("utf-8", "replace")
            except LookupError:
                pass  # an encoding that nobody knows is none
    return data


def _title(tree: LexborHTMLParser) -> str:
    for title in tree.css("title"):
        if title.parent is None or title.parent.tag != "svg":
            return _clean(title.text())
    return ""


def _clean(text: str) -> str:
    return " ".join(text.split())


def _prepared(source: str) -> str:
    """The file as the parser is to see it. Of a tag that is longer than any sensible one, only the name is kept."""
    tags = _Tags()
    pieces: list[str] = []
    at = line = counted = close = 0
    for match in _TAG.finditer(source):
        if match.start() < at:
            continue
        line, counted = line + source.count("\n", counted, match.start()), match.start()
        pieces += source[at : match.start()], tags.written(match, line + 1)
        at = match.end()
        if close < at:  # looked for once, however many tags are not closed
            close = source.find(">", at)
            close = close if close >= 0 else len(source)
        if match["name"] and close - at > _LONGEST_TAG:
            at = close
    return "".join([*pieces, source[at:]])


class _Tags:
    """The elements that are open, as far as tags alone tell."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def written(self, match: re.Match[str], line: int) -> str:
        """A tag's beginning as the parser is to see it."""
        if match["comment"]:
            return ""
        if match["raw"]:
            return match[0] if match["raw"].lower() in _SHOWN else "<style></style"
        name = match["name"].lower()
        if not self._keeps(name, closing=bool(match["slash"])):
            return _NOTHING
        return f"<{match['slash']}{name}" + (f' {_LINE}="{line}"' if name in _MARKED and not match["slash"] else "")

    def _keeps(self, name: str, *, closing: bool) -> bool:
        if name in _VOID or name in _ENDED_BY_THE_NEXT:
            return True
        if name in _FORMATS:
            return False
        return self._close(name) if closing else self._begin(name)

    def _begin(self, name: str) -> bool:
        if len(self._open) >= DEEPEST or (name in _CODE and self._count[name]):
            self._dropped[name] += 1
            return False
        self._open.append(name)
        self._count[name] += 1
        return True

    def _close(self, name: str) -> bool:
        if self._dropped[name]:
            self._dropped[name] -= 1
            return False
        if not self._count[name]:
            return False
        ended = ""
        while ended != name:
            ended = self._open.pop()
            self._count[ended] -= 1
        return True


@dataclass
class _List:
    """A list that is open, and how many of its items there were."""

    numbered: bool
    items: int = 0


class _Reader:
    """Goes through the elements of a document from its beginning to its end, without recursion."""

    def __init__(self) -> None:
        self.outline = Outline("Section")
        self._buffers: list[list[str]] = [[]]
        """The words of the paragraph at hand; with those of each cell of a table that is open above them."""
        self._rows: list[list[str]] = []
        self._lists: list[_List] = []
        self._marker = ""
        self._tight = False
        self._codes = 0

    def read(self, root: LexborNode) -> None:
        node: LexborNode | None = root
        above: list[tuple[LexborNode, _Leave | None]] = []
        while node is not None:
            inside, leave = self._enter(node)
            child = node.first_child if inside else None
            if child is not None:
                above.append((node, leave))
                node = child
                continue
            if leave is not None:
                leave()
            following = node.next
            while following is None and above:
                node, leave = above.pop()
                if leave is not None:
                    leave()
                following = node.next
            node = following
        self._flush()

    def _enter(self, node: LexborNode) -> tuple[bool, _Leave | None]:
        """Begin an element: tell whether its content is read, and what to do at its end."""
        tag = node.tag or ""
        if tag == "-text":
            self._buffers[-1].append(_SPACES.sub(" ", node.text_content or ""))
        elif tag in _HEADINGS:
            self._heading(node, _HEADINGS[tag])
        elif tag == "pre":
            self._spill()
            self.outline.write(node.text().strip("\n"))
        elif tag in _SKIPPED or (tag in _BLOCKS and node.attributes.get("role") in _ROLES):
            self._flush()
        else:
            return True, self._begin(node, tag)
        return False, None

    def _begin(self, node: LexborNode, tag: str) -> _Leave | None:
        begin: Callable[[LexborNode], _Leave | None] | None = {
            "ul": self._begin_list,
            "ol": self._begin_list,
            "li": self._begin_item,
            "tr": self._begin_row,
            "td": self._begin_cell,
            "th": self._begin_cell,
        }.get(tag)
        if begin is not None:
            return begin(node)
        if tag in _BLOCKS:
            self._flush()
            self._tight = tag == "dd" or (self._tight and bool(self._marker))
            return self._flush
        return self._begin_span(node, tag)

    def _begin_span(self, node: LexborNode, tag: str) -> _Leave | None:
        if tag == "br":
            self._buffers[-1].append("\n")
        elif tag == "img":
            self._buffers[-1].append(_SPACES.sub(" ", node.attributes.get("alt") or ""))
        self._refer(node, tag)
        if tag not in _CODE:
            return None
        self._codes += 1
        return self._end_code

    def _refer(self, node: LexborNode, tag: str) -> None:
        if tag == "a":
            self.outline.link("link", node.attributes.get("href") or "", _line(node))
        elif tag == "img":
            self.outline.link("image", node.attributes.get("src") or "", _line(node))
        elif tag in _CODE and not self._codes:
            self.outline.link("code", node.text(), _line(node))

    def _end_code(self) -> None:
        self._codes -= 1

    def _heading(self, node: LexborNode, level: int) -> None:
        self._spill()
        title = _clean(node.text())
        self.outline.open(level, title.rstrip("¶#🔗 ") or title, _line(node))
        if anchor := _anchor(node):
            self.outline.properties["anchor"] = anchor
        for inner in node.css("a, img, code, tt, samp"):
            if inner.tag != "a" or _clean(inner.text()) not in {"", "¶", "#", "🔗"}:
                self._refer(inner, inner.tag or "")

    def _begin_list(self, node: LexborNode) -> _Leave:
        self._flush()
        self._lists.append(_List(numbered=node.tag == "ol"))
        return self._end_list

    def _end_list(self) -> None:
        self._flush()
        self._lists.pop()

    def _begin_item(self, node: LexborNode) -> _Leave:
        self._flush()
        innermost = self._lists[-1] if self._lists else _List(numbered=False)
        innermost.items += 1
        self._tight = innermost.items > 1 or len(self._lists) > 1
        bullet = f"{innermost.items}. " if innermost.numbered else "- "
        self._marker = "  " * min(len(self._lists) - 1, _MOST_INDENTED) + bullet
        return self._end_item

    def _end_item(self) -> None:
        self._flush()
        self._marker = ""

    def _begin_row(self, node: LexborNode) -> _Leave:
        self._flush()
        if len(self._rows) >= _DEEPEST_ROW:
            return self._flush
        self._rows.append([])
        first = node.prev is None and (node.parent is None or node.parent.prev is None)
        return lambda: self._end_row(tight=not first)

    def _end_row(self, *, tight: bool) -> None:
        self._flush()
        row = " | ".join(self._rows.pop())
        if self._rows:
            self._buffers[-1].append(f" {row} ")
        else:
            self.outline.write(row.strip("| ") and row, tight=tight)

    def _begin_cell(self, node: LexborNode) -> _Leave | None:
        if not self._rows or len(self._buffers) > _DEEPEST_ROW:
            return self._flush
        self._buffers.append([])
        return self._end_cell

    def _end_cell(self) -> None:
        self._rows[-1].append(" ".join("".join(self._buffers.pop()).split()))

    def _flush(self) -> None:
        """End a paragraph. One in a cell of a table ends with the cell."""
        buffer = self._buffers[-1]
        if len(self._buffers) > 1:
            buffer.append(" ")
            return
        lines = (" ".join(line.split()) for line in "".join(buffer).split("\n"))
        buffer.clear()
        if text := "\n".join(filter(None, lines)):
            self.outline.write(self._marker + text, tight=self._tight)
            self._marker, self._tight = "", False

    def _spill(self) -> None:
        """Write what there is, cells of open rows included, for something begins that no table holds."""
        self._flush()
        for row in self._rows:
            self.outline.write(" | ".join(filter(None, row)))
            row.clear()
        for buffer in self._buffers:
            self.outline.write(" ".join("".join(buffer).split()))
            buffer.clear()


def _line(node: LexborNode) -> int:
    return int(node.attributes.get(_LINE) or 1)


def _anchor(node: LexborNode) -> str:
    """The identifier of a heading for addresses: its own, that of an element in it, or of the one it begins."""
    inner = node.css_first("[id], a[name]")
    for element in filter(None, (node, inner)):
        if anchor := element.attributes.get("id") or element.attributes.get("name"):
            return str(anchor)
    before = node.prev
    while before is not None and before.is_text_node and not (before.text_content or "").strip():
        before = before.prev
    if before is None and node.parent is not None:
        return str(node.parent.attributes.get("id") or "")
    return ""
