"""Progress as it is shown: a table that stays in place on a terminal, lines of text everywhere else."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from io import TextIOWrapper
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from detent.application.running.news import StageProgress
from detent.cli.drawing import plain, table
from detent.cli.output import duration, number

LINE_SECONDS = 5.0

_BAR, _AGAIN = "", "Retries"
_COLUMNS = ("Source", "Label", "Stage", "Done", _BAR, "Rate", "Left", _AGAIN, "Failed")
_WIDE = 100
"""Characters of a line that has room for a bar beside the numbers."""


class Display(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def found(self, count: int) -> None:
        """Show the number of items discovered so far."""

    def show(self, stages: Sequence[StageProgress]) -> None:
        """Show the progress."""

    def say(self, sentence: str) -> None:
        """Print a sentence."""

    def note(self, sentence: str | None) -> None:
        """Show the present situation until another note replaces it."""


def display(console: Console) -> Display:
    return LiveDisplay(console) if console.is_terminal and not console.is_dumb_terminal else LineDisplay(console)


class LineDisplay:
    """A line every few seconds per stage with progress; none for a stage without work from the start."""

    def __init__(self, console: Console, every_seconds: float = LINE_SECONDS) -> None:
        self._console = console
        self._every = every_seconds
        self._shown: dict[tuple[str, str, str], tuple[int, ...]] = {}
        self._latest: Sequence[StageProgress] = ()
        self._printed_at = float("-inf")
        self._found_at = time.monotonic()
        self._note: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._print()

    def found(self, count: int) -> None:
        if time.monotonic() - self._found_at >= self._every:
            self._found_at = time.monotonic()
            self.say(_found(count))

    def show(self, stages: Sequence[StageProgress]) -> None:
        if not self._latest:
            self._shown = {_place(stage): _facts(stage) for stage in stages if stage.done == stage.total}
        self._latest = stages
        if time.monotonic() - self._printed_at >= self._every:
            self._print()

    def say(self, sentence: str) -> None:
        self._console.print(f"{_clock()} {sentence}", soft_wrap=True)

    def note(self, sentence: str | None) -> None:
        if sentence is not None and sentence != self._note:
            self.say(sentence)
        self._note = sentence

    def _print(self) -> None:
        for stage in self._latest:
            if stage.total and self._shown.get(_place(stage)) != _facts(stage):
                self._shown[_place(stage)] = _facts(stage)
                self._printed_at = time.monotonic()
                self._console.print(plain(f"{_clock()} {line(stage)}"), soft_wrap=True)


class LiveDisplay:
    """A table that stays at the bottom of the terminal. What workers print is shown above it."""

    def __init__(self, console: Console) -> None:
        self._terminal = _Terminal()
        self._began = time.monotonic()
        self._ended = False
        self._note: str | None = None
        self._stages: Sequence[StageProgress] = ()
        self._no_color = console.no_color
        self._live: Live | None = None

    def __enter__(self) -> Self:
        console = Console(
            file=self._terminal.take(), no_color=self._no_color or None, markup=False, highlight=False, emoji=False
        )
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._live.start()
        self._terminal.pass_on(console)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._terminal.give_back()
        if self._live is not None:
            self._refresh()
            self._live.stop()
        self._terminal.close()

    def found(self, count: int) -> None:
        self.note(_found(count))

    def show(self, stages: Sequence[StageProgress]) -> None:
        self._stages = stages
        self._refresh()

    def say(self, sentence: str) -> None:
        if self._live is not None:
            self._live.console.print(sentence, soft_wrap=True)

    def note(self, sentence: str | None) -> None:
        self._note = sentence
        self._refresh()

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        stages = [stage for stage in self._stages if stage.total]
        needless = {_BAR: not self._is_wide(), _AGAIN: not any(stage.again for stage in stages)}
        names = [name for name in _COLUMNS if not needless.get(name)]
        shown = table(*names, numbers=["Done", "Rate", "Left", _AGAIN])
        for stage in stages:
            cells = dict(zip(_COLUMNS, _cells(stage), strict=True))
            shown.add_row(*(cells[name] for name in names))
        picture = shown if stages else Group()
        if self._ended:
            return picture
        running = f"{duration(round(time.monotonic() - self._began))}; Ctrl-C stops after the items in progress"
        return Group(picture, Text(self._note or running, style="dim" if self._note is None else "yellow"))

    def _is_wide(self) -> bool:
        return self._live is not None and self._live.console.width >= _WIDE


def _cells(stage: StageProgress) -> tuple[RenderableType, ...]:
    return (
        plain(stage.source),
        plain(stage.label),
        stage.stage,
        f"{number(stage.done)} of {number(stage.total)}",
        ProgressBar(total=max(1, stage.total), completed=stage.done, width=20),
        rate(stage),
        duration(stage.left_seconds) if stage.left_seconds is not None else "",
        number(stage.again) if stage.again else "",
        Text(_failed(stage), style="red" if stage.failed or stage.failed_in_all else ""),
    )


class _Terminal:
    """Takes the terminal for the progress, and gives other writers, above all workers, a pipe in its place. A
    thread prints the output of the pipe."""

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}
        self._reading = -1
        self._thread: threading.Thread | None = None

    def take(self) -> TextIOWrapper:
        self._file = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
        self._reading, writing = os.pipe()
        for descriptor in (1, 2):
            if os.isatty(descriptor):
                self._kept[descriptor] = os.dup(descriptor)
                os.dup2(writing, descriptor)
        os.close(writing)
        return self._file

    def pass_on(self, console: Console) -> None:
        self._thread = threading.Thread(target=self._read, args=(console,), name="detent-terminal", daemon=True)
        self._thread.start()

    def give_back(self) -> None:
        """Give the terminal back. The pipe ends with its last writer; do not wait for a process left behind."""
        for descriptor, kept in self._kept.items():
            os.dup2(kept, descriptor)
            os.close(kept)
        if self._thread is not None:
            self._thread.join(1.0)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def _read(self, console: Console) -> None:
        with os.fdopen(self._reading, encoding="utf-8", errors="replace") as lines, contextlib.suppress(OSError):
            for text in lines:
                console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=True)


def _place(stage: StageProgress) -> tuple[str, str, str]:
    return stage.source, stage.label, stage.stage


def _facts(stage: StageProgress) -> tuple[int, ...]:
    """The numbers of a stage whose change prints a line."""
    return stage.done, stage.total, stage.failed, stage.failed_in_all, stage.again


def line(stage: StageProgress) -> str:
    """`wiki/Article claimed: 120 of 1,003 done, 45/s, about 20 s left, 2 to retry, 3 failed`."""
    parts = [f"{number(stage.done)} of {number(stage.total)} done"]
    if stage.rate:
        parts.append(rate(stage))
    if stage.left_seconds is not None:
        parts.append(f"about {duration(stage.left_seconds)} left")
    if stage.again:
        parts.append(f"{number(stage.again)} to retry")
    if stage.failed:
        parts.append(f"{number(stage.failed)} failed")
    if stage.failed_in_all:
        parts.append(f"{number(stage.failed_in_all)} failed in all")
    return f"{stage.source}/{stage.label} {stage.stage}: {', '.join(parts)}"


def _failed(stage: StageProgress) -> str:
    return f"{number(stage.failed_in_all)} in all" if stage.failed_in_all else number(stage.failed)


def rate(stage: StageProgress) -> str:
    if not stage.rate:
        return ""
    return f"{stage.rate:,.0f}/s" if stage.rate >= 10 else f"{stage.rate:.1f}/s"


def _found(count: int) -> str:
    return f"Looking for items: found {number(count)} so far."


def _clock() -> str:
    return time.strftime("%H:%M:%S")
