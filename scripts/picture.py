"""Writes `docs/demo.svg`, the README's picture: the run and one search of a real `make demo`, as a terminal shows them.

The demo runs in a terminal of 100 columns. What it prints is drawn as it stood when the demo ended, so that a table
that was drawn again and again is there once.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE = Path(__file__).parent.parent / "docs" / "demo.svg"
COLUMNS = 100
SHOWN = ("detent run", "detent search --limit 2 --mode semantic")
CONTROL = re.compile(r"\r|\n|\x1b\[\d*[ABCDGHJK]|\x1b\[\?\d+[hl]|\x1b\[[\d;]*m|[^\r\n\x1b]+")
HEADING = re.compile(r"\x1b\[1m[^\x1b]*\x1b\[0m")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def recorded() -> str:
    """What the demo writes to a terminal."""
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    demo = subprocess.Popen([sys.executable, "-m", "detent.demo"], stdout=inside, stderr=inside, env=environment)
    os.close(inside)
    written = b""
    try:
        while piece := os.read(terminal, 65536):
            written += piece
    except OSError:  # the other side is closed: the demo has ended
        pass
    if demo.wait() != 0:
        sys.exit(f"The demo failed:\n{written.decode(errors='replace')}")
    return written.decode()


def screen(written: str) -> list[str]:
    """The lines that are on the screen in the end, with their colours."""
    lines, row = [""], 0
    for part in CONTROL.findall(written):
        if part == "\n":
            row += 1
            lines.extend([""] * (row + 1 - len(lines)))
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part.endswith("A") and part.startswith("\x1b["):
            row = max(0, row - int(part[2:-1] or 1))
        elif COLOUR.fullmatch(part) or not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return lines


def chosen(lines: list[str]) -> list[str]:
    """The commands that are shown, each with what it printed."""
    kept: list[str] = []
    showing = False
    for line in lines:
        plain = COLOUR.sub("", line)
        if plain.startswith("$ "):
            showing = plain.removeprefix("$ ").startswith(SHOWN)
            kept += [""] if showing and kept else []
        showing = showing and not HEADING.fullmatch(line)
        if showing and plain:
            kept.append(line)
    return kept


def drawn(lines: list[str]) -> str:
    """The lines as SVG, which loads nothing from anywhere."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    for line in lines:
        console.print(Text.from_ansi(line))
    console.print()  # room for the descenders of the last line
    svg = console.export_svg(title="make demo", theme=MONOKAI, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


if __name__ == "__main__":
    PICTURE.write_text(drawn(chosen(screen(recorded()))), encoding="utf-8")
