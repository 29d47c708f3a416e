"""What follows the imports of each language. It needs the parsers, so it is imported when the first file is linked."""

from __future__ import annotations

from collections.abc import Callable

from detent.documents.parsed import Parsed
from detent.sources.files.linking import c, go, java, javascript, python, ruby, rust
from detent.sources.files.linking.consuming import Elsewhere
from detent.sources.files.linking.gathering import Gathered
from detent.sources.files.linking.roots import Roots

LANGUAGES: dict[str, Callable[[Gathered, Parsed, Roots], Elsewhere]] = {
    "python": python.link,
    "javascript": javascript.link,
    "typescript": javascript.link,
    "go": go.link,
    "rust": rust.link,
    "java": java.link,
    "c": c.link,
    "cpp": c.link,
    "ruby": ruby.link,
}
"""Each notes what a file imports, and returns what finds the names that the file does not define itself."""
