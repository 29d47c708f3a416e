"""reStructuredText, read lightly: what a reader sees, in the sections of its underlined titles.

The lines are gone through once. A directive's own line and options are read for what they say; what is in it is read
like any other text, so that nothing needs to know how deep it stands. Only a title has to stand at the margin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from detent.documents.outline import Outline
from detent.documents.parsed import Parsed
from detent.documents.plain import read

DEEPEST = 9
"""Levels of sections that are told apart."""

_ADORNMENTS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_BULLET = re.compile(r"(?:[-*+•]|\(?(?:\d{1,9}|[a-zA-Z#])[.)])[ ]+|:[^:\s`][^:\n`]{0,80}:(?:[ ]+|$)|\|[ ]")
_OPTION = re.compile(r"[ ]+:([\w-]+):[ ]*(.*)")
_DIRECTIVE = re.compile(r"(?:\|[^|\n]{1,100}\|[ ]+)?([A-Za-z][\w:.+-]*?)[ ]?::(?:[ ]+(.*))?")
_TARGET = re.compile(r"_(?P<name>`[^`]+`|[^`:]+):(?:[ ]+(?P<place>.*))?")
_FOOTNOTE = re.compile(r"\[[^\]\s]{1,60}\][ ]")
_PLACES = re.compile(r"^[ ]*\.\.[ ]+_(?P<name>`[^`\n]+`|[^`:\n_][^`:\n]*):[ ]+(?P<place>\S.*)$", re.MULTILINE)
_NAMELESS = re.compile(r"^[ ]*(?:\.\.[ ]+__:|__)[ ]+(\S.*)$", re.MULTILINE)
_COLUMNS = re.compile(r"=+(?:[ ]+=+)+")
_ENTRY = re.compile(r"[ ]*(?:(\*)[ ]+)?-(?:[ ]+|$)(.*)")
_OBJECT = re.compile(
    r"auto[a-z]+|(?:\w+:)?(?:function|class|method|attribute|module|data|exception|property|decorator|type|macro|member"
    r"|var|enum|struct|staticmethod|classmethod|currentmodule)"
)
_INLINE = re.compile(
    r"``(?P<literal>(?:[^`]|`(?!`))+)``"
    r"|:(?P<role>[A-Za-z][\w:.+-]{0,60}):`(?P<named>[^`]+)`"
    r"|`(?P<phrase>[^`]+)`(?P<refers>__?)?"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|\*(?P<emphasis>[^*\s](?:[^*]*[^*\s])?)\*"
    r"|(?P<address>https?://[^\s<>`\"]*[^\s<>`\".,;:!?)\]'])"
    r"|(?<![\w`/.@:-])(?P<word>[A-Za-z0-9][\w.+-]{0,80})_(?![\w/])"
    r"|\|(?P<substitution>\w[^|\n]{0,80})\|_{0,2}"
    r"|\\(?P<escaped>[^\n]|\n)"
)

_LANGUAGES = frozenset({"code", "code-block", "sourcecode"})
_CODE = re.compile(
    r"code|code-block|sourcecode|literalinclude|parsed-literal|doctest|testcode|testoutput|prompt|math|productionlist"
    r"|csv-table|graphviz|mermaid"
)
_UNSEEN = re.compile(
    r"contents|highlight|role|default-role|index|meta|sectnum|raw|include|sectionauthor|tabularcolumns|testsetup"
    r"|testcleanup|title|toctree|replace|unicode|date"
)
_WITHOUT_WORDS = re.compile(r"only|ifconfig|container|class|rst-class|cssclass|tab-set|grid")
_PLAIN_ROLES = re.compile(
    r"sub|sup|math|emphasis|strong|title|kbd|guilabel|menuselection|abbr|term|raw|command|program|option|envvar|file"
    r"|samp|rfc|pep|mimetype|dfn|keyword"
)

_Rows = list[list[list[str]]]
"""The rows of a table: of each the cells, and of each cell the lines."""


def parse(data: bytes, name: str) -> Parsed:
    """Read a reStructuredText file."""
    text, problems = read(data)
    reader = _Reader(text.expandtabs())
    reader.read()
    last = text.removesuffix("\n").count("\n") + 1
    return reader.outline.parsed("restructuredtext", last, properties={}, problems=problems)


@dataclass(frozen=True)
class _Directive:
    name: str
    argument: str
    indentation: int
    line: int
    options: dict[str, str]


class _Reader:
    def __init__(self, text: str) -> None:
        self.outline = Outline("Section")
        self._lines = text.split("\n")
        self._at = 0
        self._styles: dict[tuple[str, bool], int] = {}
        self._anchor = ""
        self._places = {_name(match["name"]): match["place"].strip() for match in _PLACES.finditer(text)}
        self._nameless = iter([match[1].strip() for match in _NAMELESS.finditer(text)])

    def read(self) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at].strip()
            if not line or line.startswith("__ "):
                self._at += 1
            elif not self._read_title():
                self._read_block(line)

    def _read_block(self, line: str) -> None:
        if line == ".." or line.startswith(".. "):
            self._read_markup(line[2:].strip())
        elif line.startswith(("+-", "+=")) and line.endswith("+"):
            self._write_table(_grid(self._paragraph()))
        elif _COLUMNS.fullmatch(line):
            self._write_table(_columns(self._paragraph()))
        elif _is_adornment(line) and len(line) >= 4:
            self._at += 1
        else:
            self._read_paragraph()

    def _read_title(self) -> bool:
        """A line under which another of signs is drawn, or between two of them."""
        here, under, below = (*self._lines[self._at : self._at + 3], "", "")[:3]
        if _is_adornment(here) and _is_words(under) and below.rstrip() == here.rstrip():
            self._open(under, (here[0], True), 3)
        elif not here[0].isspace() and _is_adornment(under) and _is_title(here, under.rstrip()):
            self._open(here, (under[0], False), 2)
        else:
            return False
        return True

    def _open(self, title: str, style: tuple[str, bool], lines: int) -> None:
        level = min(self._styles.setdefault(style, len(self._styles) + 1), DEEPEST)
        first = self._at + 1
        text, found = self._spans(title.strip(), first)
        self.outline.open(level, " ".join(text.split()), first)
        for each in found:
            self.outline.link(*each)
        if self._anchor:
            self.outline.properties["anchor"] = self._anchor
        self._anchor = ""
        self._at += lines

    def _read_markup(self, body: str) -> None:
        """Read what two dots begin: a directive, the target of a link, a footnote; or else a comment."""
        indentation = _indentation(self._lines[self._at])
        if match := _DIRECTIVE.fullmatch(body):
            self._at += 1
            self._read_directive(match[1].lower(), (match[2] or "").strip(), indentation)
        elif _FOOTNOTE.match(body):
            self._lines[self._at] = " " * indentation + body
            self._read_paragraph()
        else:
            if (target := _TARGET.fullmatch(body)) and not target["place"]:
                self._anchor = target["name"].strip("`")
            self._at += 1
            self._indented(indentation)

    def _read_directive(self, name: str, argument: str, indentation: int) -> None:
        line, options = self._at, {}
        while self._at < len(self._lines) and (option := _OPTION.fullmatch(self._lines[self._at])):
            options[option[1]] = option[2].strip()
            self._at += 1
        directive = _Directive(name, argument, indentation, line, options)
        if name in {"image", "figure"}:
            self._read_image(directive)
        elif name == "list-table":
            self._write(argument, line)
            self._write_table(_entries(self._indented(indentation)))
        elif _CODE.fullmatch(name):
            self._read_code(directive)
        elif _UNSEEN.fullmatch(name):
            self._read_unseen(directive)
        elif _OBJECT.fullmatch(name):
            self.outline.write(argument)
            self.outline.link("code", argument.partition("(")[0].split(" ")[-1], line)
        elif not _WITHOUT_WORDS.fullmatch(name):
            self._write(argument, line)

    def _read_image(self, directive: _Directive) -> None:
        self.outline.link("image", directive.argument, directive.line)
        self.outline.link("link", directive.options.get("target", ""), directive.line)
        self.outline.write(directive.options.get("alt", ""))

    def _read_code(self, directive: _Directive) -> None:
        if directive.name in _LANGUAGES and directive.argument:
            self.outline.add_language(directive.argument)
        elif directive.name == "literalinclude":
            self.outline.link("link", directive.argument, directive.line)
        self.outline.write(_dedented(self._indented(directive.indentation)))

    def _read_unseen(self, directive: _Directive) -> None:
        if directive.name == "include":
            self.outline.link("link", directive.argument, directive.line)
        first = self._at + 1
        for number, line in enumerate(self._indented(directive.indentation), first):
            if directive.name == "toctree":
                self.outline.link("link", _titled(line.strip())[1], number)

    def _indented(self, indentation: int) -> list[str]:
        """The lines from here on that are indented deeper than this, which are read thereby."""
        start = end = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip():
                if _indentation(line) <= indentation:
                    break
                end = self._at + 1
            self._at += 1
        self._at = max(end, start)
        return self._lines[start:end]

    def _paragraph(self) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip():
            self._at += 1
        return self._lines[start : self._at]

    def _read_paragraph(self) -> None:
        """Lines up to a blank one; if they end with two colons, with what is indented below them."""
        first = self._at + 1
        lines = self._paragraph()
        if lines[0].lstrip().startswith(">>> "):
            self.outline.write(_dedented(lines))
            return
        literal = lines[-1].rstrip().endswith("::")
        if literal:
            shortened = lines[-1].rstrip()[:-2]
            lines = [*lines[:-1], shortened + ":" if shortened.strip() and not shortened.endswith(" ") else shortened]
        for number, (line, text) in enumerate(_joined(lines, first)):
            self._write(text, line, tight=number > 0)
        if literal:
            self.outline.write(_dedented(self._indented(_text_indentation(lines[-1]))))

    def _write(self, text: str, line: int, *, tight: bool = False) -> None:
        plain, found = self._spans(text, line)
        self.outline.write(" ".join(plain.split()), tight=tight)
        for each in found:
            self.outline.link(*each)

    def _write_table(self, rows: _Rows) -> None:
        for number, row in enumerate(rows):
            cells = (" ".join(" ".join(cell).split()) for cell in row)
            self._write(" | ".join(cells), self._at, tight=number > 0)
        if rows:
            self.outline.add_table()

    def _spans(self, text: str, line: int) -> tuple[str, list[tuple[str, str, int]]]:
        """Inline text as plain text, with what it refers to."""
        found: list[tuple[str, str, int]] = []
        counted = 0

        def plain(match: re.Match[str]) -> str:
            nonlocal line, counted
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            shown, kind, target = self._span(match)
            if target:
                found.append((kind, target, line))
            return shown

        return _INLINE.sub(plain, text), found

    def _span(self, match: re.Match[str]) -> tuple[str, str, str]:
        """The shown text of marked words, and their target, if they have one."""
        kind = match.lastgroup or ""
        words = match[kind]
        if kind == "literal":
            return words, "code", words
        if kind == "named":
            return _role(match["role"].rpartition(":")[2].lower(), words)
        if match["phrase"]:
            return self._phrase(match["phrase"], match["refers"] or "")
        if kind == "address":
            return words, "link", words
        if kind == "word":
            place = self._place(words.rstrip("_"), nameless=words.endswith("_"))
            return (words.rstrip("_") if place else match[0]), "link", place
        return ("" if kind == "escaped" and words.isspace() else words), "", ""

    def _phrase(self, words: str, refers: str) -> tuple[str, str, str]:
        if not refers:
            return words, "code", words
        shown, target = _titled(words)
        if target == words:
            return words, "link", self._place(words, nameless=refers == "__")
        alias = target.endswith("_") and self._place(target[:-1], nameless=False)
        return shown or target, "link", alias or "".join(target.split())

    def _place(self, name: str, *, nameless: bool) -> str:
        if nameless:
            return next(self._nameless, "")
        place = self._places.get(_name(name), "")
        if place.endswith("_") and "/" not in place:
            place = self._places.get(_name(place[:-1]), place)
        return place


def _role(role: str, words: str) -> tuple[str, str, str]:
    shown, target = _titled(words)
    if role in {"doc", "download"}:
        return shown, "link", target
    if role in {"ref", "numref"}:
        return shown, "link", f"#{target}"
    if _PLAIN_ROLES.fullmatch(role):
        return shown, "", ""
    name = target.lstrip("~!")
    if target != words:
        return shown, "code", name
    return (name.rpartition(".")[2] if words.startswith("~") else name), "code", name


def _titled(words: str) -> tuple[str, str]:
    """The shown text and the target of `shown <target>`; for anything else, both are the same."""
    shown, opening, meant = words.rpartition("<")
    if opening and meant.endswith(">"):
        return shown.strip(), meant[:-1].strip()
    return words, words


def _name(written: str) -> str:
    return " ".join(written.strip("`").casefold().split())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _text_indentation(line: str) -> int:
    """The place where the words of a line begin, behind the bullet if there is one."""
    indentation = _indentation(line)
    bullet = _BULLET.match(line, indentation)
    return bullet.end() if bullet and not bullet[0].startswith(":") else indentation


def _is_adornment(line: str) -> bool:
    signs = line.rstrip()
    return bool(signs) and signs[0] in _ADORNMENTS and signs not in {"::", ".."} and signs == signs[0] * len(signs)


def _is_words(line: str) -> bool:
    return bool(line.strip()) and not _is_adornment(line)


def _is_title(text: str, under: str) -> bool:
    return _is_words(text) and len(under) >= min(len(text.rstrip()), 4)


def _dedented(lines: list[str]) -> str:
    least = min((_indentation(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:].rstrip() for line in lines).strip("\n")


def _joined(lines: list[str], first: int) -> list[tuple[int, str]]:
    """The lines of a paragraph with those that go on joined to where they began, and the number of each. A line that
    begins with a bullet, or farther left or right than the one before, does not go on."""
    joined: list[tuple[int, list[str]]] = []
    indentation = -1
    for number, line in enumerate(lines, first):
        if joined and _indentation(line) == indentation and not _BULLET.match(line, indentation):
            joined[-1][1].append(line.strip())
        else:
            joined.append((number, [line.strip().removeprefix("| ")]))
        indentation = _text_indentation(line)
    return [(number, "\n".join(texts)) for number, texts in joined]


def _add_row(rows: _Rows, cells: list[str], *, going_on: bool) -> None:
    """Add a line of a table. Each cell of it may go on from the one above."""
    if going_on and rows and len(cells) == len(rows[-1]):
        for above, cell in zip(rows[-1], cells, strict=True):
            above.append(cell)
    else:
        rows.append([[cell] for cell in cells])


def _grid(lines: list[str]) -> _Rows:
    """The rows of a table drawn with +, - and |."""
    rows: _Rows = []
    inside = False
    for line in map(str.strip, lines):
        if not line.startswith("+"):
            _add_row(rows, line.strip("|").split("|"), going_on=inside)
        inside = not line.startswith("+")
    return rows


def _columns(lines: list[str]) -> _Rows:
    """The rows of a table whose columns are marked by = above and below."""
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    rows: _Rows = []
    for line in lines[1:]:
        if line.strip(" =-"):
            cells = [line[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
            _add_row(rows, cells, going_on=not cells[0].strip())
    return rows


def _entries(lines: list[str]) -> _Rows:
    """The rows of a table written as a list of lists."""
    rows: _Rows = []
    for line in lines:
        entry = _ENTRY.fullmatch(line)
        if entry and (entry[1] or not rows):
            rows.append([[entry[2]]])
        elif entry:
            rows[-1].append([entry[2]])
        elif rows:
            rows[-1][-1].append(line)
    return rows
