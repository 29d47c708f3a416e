"""C++: what C has, and more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tree_sitter_cpp

from detent.documents.code.languages.c import LANGUAGE as C

LANGUAGE = replace(
    C,
    name="cpp",
    title="C++",
    load=tree_sitter_cpp.language,
    queries=(*C.queries, Path(__file__).parent),
    dialect=None,
    own=frozenset({"this"}),
    fields_visible=True,
    members_visible=True,
    qualified_methods=True,
)
