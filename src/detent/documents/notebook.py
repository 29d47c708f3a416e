"""Jupyter notebooks: the headings of their Markdown cells make sections, in which the code stands as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from detent.documents.decoding import decode, storable
from detent.documents.outline import Outline
from detent.documents.parsed import Parsed, Part, Unparsable

LONGEST_OUTPUT = 500
"""Characters of what a cell printed that are kept."""

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_LINK = re.compile(r"(!?)\[[^\[\]]*\]\([ \t]*<?([^()<>\s]+)")
_TERMINAL = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


def parse(data: bytes, name: str) -> Parsed:
    """Read a notebook of the formats 3 and 4."""
    notebook = _loaded(data)
    cells = _cells(notebook)
    if cells is None:
        raise Unparsable("It is no notebook: it has no cells.")
    outline = Outline("Section")
    unknown = 0
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        if kind == "markdown":
            _read_markdown(_joined(cell.get("source")), number, outline)
        elif kind == "heading" and (title := _line(_joined(cell.get("source")))):
            level = cell.get("level")
            outline.open(level if isinstance(level, int) and 1 <= level <= 6 else 1, title, number)
        elif kind == "code":
            outline.write(_code(cell))
        elif kind == "raw":
            outline.write(_joined(cell.get("source")).strip())
        elif kind != "heading":
            unknown += 1
    problems = [f"{unknown:,} of its {len(cells):,} cells could not be read."] if unknown else []
    title, properties = _about(notebook, len(cells))
    parsed = outline.parsed("notebook", len(cells), title=title, properties=properties, problems=problems)
    return replace(parsed, parts=[_with_cells(part) for part in parsed.parts])


def _loaded(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(decode(data).text)
    except RecursionError as error:
        raise Unparsable("It is no notebook: it is nested too deeply.") from error
    except ValueError as error:
        raise Unparsable(f"It is no notebook, because it is no JSON: {error}.") from error
    if not isinstance(notebook, dict):
        raise Unparsable("It is no notebook: it has no cells.")
    return notebook


def _cells(notebook: dict[str, Any]) -> list[Any] | None:
    """The cells; format 3 has them in worksheets."""
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    worksheets = notebook.get("worksheets")
    if not isinstance(worksheets, list):
        return None
    found = [sheet["cells"] for sheet in worksheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    return [cell for cells in found for cell in cells]


def _read_markdown(source: str, number: int, outline: Outline) -> None:
    """Give the outline the cell's headings and texts. What looks like a heading in a fenced block is none."""
    lines: list[str] = []
    fence = ""

    def end() -> None:
        text = "\n".join(lines).strip()
        outline.write(text)
        for mark, target in _LINK.findall(text):
            outline.link("image" if mark else "link", target, number)
        lines.clear()

    for line in source.split("\n"):
        title, level = ("", 0) if fence else _heading(line)
        if title:
            end()
            outline.open(level, title, number)
        else:
            lines.append(line)
            fence = _fence_after(line, fence)
    end()


def _heading(line: str) -> tuple[str, int]:
    match = _HEADING.match(line)
    if match is None:
        return "", 0
    return _line(_CLOSING.sub("", (match[2] or "").rstrip())), len(match[1])


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after this line, given that which was open before: "" is none."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    closes = match[1].startswith(fence) and not line[match.end() :].strip()
    return "" if closes else fence


def _code(cell: dict[str, Any]) -> str:
    """A code cell's source, and the beginning of what it printed."""
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    outputs = cell.get("outputs")
    printed = "\n".join(filter(None, map(_output, outputs if isinstance(outputs, list) else ())))
    if len(printed) > LONGEST_OUTPUT:
        printed = f"{printed[:LONGEST_OUTPUT]} …"
    return "\n\n".join(filter(None, (source, printed)))


def _output(output: Any) -> str:
    """The text of an output. Pictures and other representations are left out."""
    if not isinstance(output, dict):
        return ""
    if "ename" in output:
        return f"{_joined(output['ename'])}: {_joined(output.get('evalue'))}"
    values = output.get("data")
    text = values.get("text/plain") if isinstance(values, dict) else output.get("text")
    return _TERMINAL.sub("", _joined(text)).strip()


def _joined(value: Any) -> str:
    """A text, which notebooks write as one or as a list of lines with their ends."""
    text = "".join(line for line in value if isinstance(line, str)) if isinstance(value, list) else value
    return storable(text).replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _with_cells(part: Part) -> Part:
    cells = f"{part.first}-{part.last}" if part.first < part.last else str(part.first)
    return replace(part, properties={**part.properties, "cells": cells})


def _about(notebook: dict[str, Any], cells: int) -> tuple[str, dict[str, Any]]:
    """The notebook's title, if it names one, and its language and kernel."""
    properties: dict[str, Any] = {"cells": cells}
    language, kernel = _at(notebook, "language_info", "name"), _at(notebook, "kernelspec", "display_name")
    if language := language or _at(notebook, "kernelspec", "language"):
        properties["language"] = language
    if kernel := kernel or _at(notebook, "kernelspec", "name"):
        properties["kernel"] = kernel
    return _at(notebook, "title") or _at(notebook, "name"), properties


def _at(notebook: dict[str, Any], *path: str) -> str:
    """A text in the notebook's metadata."""
    value: Any = notebook.get("metadata")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return _line(_joined(value))
