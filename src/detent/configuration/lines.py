"""On which line of a TOML text each key stands, which `tomllib` does not tell.

The text is one that `tomllib` has accepted, so this reads no more than is needed to tell keys from values:
strings of all four kinds, comments, arrays and inline tables may hold anything that looks like a key.
"""

import re
import tomllib
from dataclasses import dataclass, field

KeyPath = tuple[str, ...]

_TOKEN = re.compile(
    r"""
      (?P<skip> [\ \t]+ | \#[^\n]* )
    | (?P<text> \"{3} (?:\\.|[^\\])*? \"{3,5} | '{3} .*? '{3,5} | "(?:\\.|[^"\\])*" | '[^']*' )
    | (?P<mark> [=.,{}\[\]\n] )
    | (?P<bare> [^\s=.,{}\[\]"'\#]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    text: str
    line: int


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key and table in a valid TOML text; the first one where a table has several."""
    scanner = _Scanner(_tokens(text.replace("\r\n", "\n")))
    scanner.document()
    return scanner.lines


def _tokens(text: str) -> list[_Token]:
    tokens = []
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            tokens.append(_Token(match.group(), line))
        line += match.group().count("\n")
    return [*tokens, _Token("", line)]


@dataclass
class _Scanner:
    tokens: list[_Token]
    position: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)

    @property
    def next(self) -> str:
        return self.tokens[self.position].text

    def take(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1].text

    def document(self) -> None:
        table: KeyPath = ()
        while self.next:
            if self.next == "[":
                table = self.header()
            elif self.next == "\n":
                self.take()
            else:
                self.pair(table)

    def header(self) -> KeyPath:
        self.skip("[")
        table = self.key(())
        self.skip("]")
        return table

    def pair(self, table: KeyPath) -> None:
        path = self.key(table)
        self.skip("=")
        self.value(path)

    def key(self, table: KeyPath) -> KeyPath:
        """A key with its dotted parts, each noted with this line."""
        path = table
        while True:
            line = self.tokens[self.position].line
            path = (*path, _unquoted(self.take()))
            self.lines.setdefault(path, line)
            if self.next != ".":
                return path
            self.take()

    def value(self, path: KeyPath) -> None:
        if self.next == "[":
            self.take()
            while not self.ended("]"):
                self.value(path)
        elif self.next == "{":
            self.take()
            while not self.ended("}"):
                self.pair(path)
        else:
            while self.next not in ("", "\n", ",", "]", "}"):
                self.take()

    def ended(self, closing: str) -> bool:
        """True if the array or inline table ends here; otherwise its next element follows."""
        self.skip(",", "\n")
        if self.next not in (closing, ""):
            return False
        self.take()
        return True

    def skip(self, *marks: str) -> None:
        while self.next in marks:
            self.take()


def _unquoted(key: str) -> str:
    if key[0] in "\"'":
        return str(tomllib.loads(f"key = {key}")["key"])
    return key
