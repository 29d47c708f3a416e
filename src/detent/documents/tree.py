"""From source text to a syntax tree, in time and memory about in proportion to its size.

Tree-sitter reads sound code in linear time. What is far from sound, such as a megabyte of quotes or of opening angle
brackets, can cost it the square of that, in time or in memory; such files are given up.
"""

from __future__ import annotations

import re
import threading
import time

import tree_sitter

from detent.documents.source_text import SourceText

_LEAST_SECONDS, _SECONDS_PER_BYTE = 2.0, 1e-6
"""Processor time for which a file is read, many times of what sound code needs."""

_MOST_OPEN = 1000
"""Angle brackets that may be open in one statement: the memory for them grows with the square of their number."""

_MOST_SIGNS = 500
"""Signs without a word between them that may follow each other in a fault: a query looks from each to the last."""

_LARGEST_CHUNK = 12
"""The exponent of two: 4,096 bytes."""

_PADDING = b"\n" * 8
"""After the text, so that no character of it falls into a chunk that is smaller than a character can be."""

_STATEMENT_ENDS = re.compile(rb"[;{}]")


class _Thread(threading.local):
    """The state of one thread: parsers, and the memory in which it hands them a text piece by piece.

    Tree-sitter 0.26.0 never lets go of a piece that it was handed. So it is handed the same few again and again, one of
    each power of two, with other content.
    """

    def __init__(self) -> None:
        self.parsers: dict[tree_sitter.Language, tree_sitter.Parser] = {}
        self.chunks = [bytearray(1 << exponent) for exponent in range(_LARGEST_CHUNK + 1)]

    def parser(self, grammar: tree_sitter.Language) -> tree_sitter.Parser:
        if grammar not in self.parsers:
            self.parsers[grammar] = tree_sitter.Parser(grammar)
        return self.parsers[grammar]

    def chunk(self, text: bytes, offset: int) -> bytearray | bytes:
        left = len(text) - offset
        if left <= 0:
            return b""
        chunk = self.chunks[min(_LARGEST_CHUNK, left.bit_length() - 1)]
        chunk[:] = text[offset : offset + len(chunk)]
        return chunk


_thread = _Thread()


def grow(source: SourceText, grammar: tree_sitter.Language) -> tree_sitter.Tree | None:
    """The syntax tree of a text; None if it is so tangled that finding one would take too long. The tree may end in the
    empty lines that are put after the text."""
    text = source.data + _PADDING
    deadline = time.thread_time() + _LEAST_SECONDS + _SECONDS_PER_BYTE * len(text)
    given_up = False

    def read(offset: int, _: object) -> bytearray | bytes:
        nonlocal given_up
        given_up = given_up or time.thread_time() > deadline
        return b"" if given_up else _thread.chunk(text, offset)

    found = _thread.parser(grammar).parse(read)
    return None if given_up or _too_many_signs(found.root_node) else found


def first_fault(root: tree_sitter.Node, source: SourceText) -> int | None:
    """The number of the first line that is not as the language wants it."""
    node: tree_sitter.Node | None = root if root.has_error else None
    place = None
    while node is not None:
        place = node.start_byte
        if node.is_error or node.is_missing:
            break
        node = next((child for child in node.children if child.has_error or child.is_missing), None)
    return None if place is None else source.line(min(place, len(source.data)))


def _too_many_signs(root: tree_sitter.Node) -> bool:
    faulty = [root] if root.has_error else []
    while faulty:
        children = faulty.pop().children
        signs = 0
        for child in children:
            signs = 0 if child.is_named else signs + 1
            if signs > _MOST_SIGNS:
                return True
        faulty.extend(child for child in children if child.has_error and child.child_count)
    return False


def is_too_open(text: bytes) -> bool:
    """Tell whether one statement of code has so many opening angle brackets that no tree is to be grown from it."""
    if text.count(b"<") <= _MOST_OPEN:
        return False
    statements = _STATEMENT_ENDS.split(text)
    return any(statement.count(b"<") - statement.count(b">") > _MOST_OPEN for statement in statements)
