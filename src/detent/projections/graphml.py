"""GraphML, which Gephi, yEd and NetworkX read. Properties, different for every node, are JSON in one attribute."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import BinaryIO
from xml.sax.saxutils import escape

from detent.projections.writer import Record

_NODE = ("source", "label", "key", "title", "text", "state", "properties")
_EDGE = ("type", "properties")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent, not even escaped."""

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
         xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


class GraphML:
    """Writes one directed graph into a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        keys = [f'<key id="{name}" for="node" attr.name="{name}" attr.type="string"/>\n' for name in _NODE]
        keys += [f'<key id="edge_{name}" for="edge" attr.name="{name}" attr.type="string"/>\n' for name in _EDGE]
        self._write(_HEAD, *keys, '<graph edgedefault="directed">\n')

    def nodes(self, records: Sequence[Record]) -> None:
        for record in records:
            data = "".join(f'<data key="{name}">{_text(record[name])}</data>' for name in _NODE)
            self._write(f'<node id="n{record["id"]}">{data}</node>\n')

    def edges(self, records: Sequence[Record]) -> None:
        for record in records:
            data = "".join(f'<data key="edge_{name}">{_text(record[name])}</data>' for name in _EDGE)
            self._write(f'<edge source="n{record["from_id"]}" target="n{record["to_id"]}">{data}</edge>\n')

    def close(self) -> None:
        self._write("</graph>\n</graphml>\n")

    def _write(self, *parts: str) -> None:
        for part in parts:
            self._stream.write(part.encode())


def _text(value: object) -> str:
    """Format a value for XML. A character that XML cannot represent becomes the replacement character."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escape(_ILLEGAL.sub("\ufffd", written), {"\r": "&#13;"})
