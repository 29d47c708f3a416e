"""The console, its tables, and external texts. Importing this module is slow."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNBOUNDED = 10_000
_NARROWEST = 16


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class _Trimmed:
    """A stream that trims trailing blanks, such as tables have."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(" +(?=\n)", "", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False, color: bool = True) -> Console:
    """The console to print to. Lines in a file or a pipe are not wrapped."""
    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    return _Console(
        file=stream if terminal else cast(TextIO, _Trimmed(stream)),
        stderr=stderr,
        no_color=None if color else True,
        width=None if terminal else _UNBOUNDED,
        markup=False,
        highlight=False,
        emoji=False,
    )


def table(*columns: str, numbers: Sequence[str] = (), wide: Sequence[str] = ()) -> Table:
    """A table without lines; `numbers` are the columns set to the right, `wide` those that may wrap."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in numbers else "left",
            no_wrap=column not in wide,
            min_width=_NARROWEST if column in wide and column else None,
            overflow="fold" if column in wide else "ellipsis",
        )
    return made


def plain(text: object, *, style: str = "") -> Text:
    """An external text, safe to display: control characters are escaped."""
    shown = "".join(letter if letter.isprintable() else _escaped(letter) for letter in str(text))
    return Text(shown, style=style)


def _escaped(letter: str) -> str:
    return " " if letter in "\n\t" else letter.encode("unicode_escape").decode()
