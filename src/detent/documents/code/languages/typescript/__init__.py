"""TypeScript: what JavaScript has, with types. Files that end with `tsx` have a grammar of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tree_sitter_typescript

from detent.documents.code.language import Language
from detent.documents.code.languages.javascript import LANGUAGE as JAVASCRIPT
from detent.documents.code.languages.javascript import SHARED


def _dialect(name: str, text: bytes) -> Language | None:
    return _TSX if name.lower().endswith(".tsx") else None


LANGUAGE = replace(
    JAVASCRIPT,
    name="typescript",
    title="TypeScript",
    load=tree_sitter_typescript.language_typescript,
    queries=(SHARED, Path(__file__).parent),
    dialect=_dialect,
)
_TSX = replace(LANGUAGE, load=tree_sitter_typescript.language_tsx)
