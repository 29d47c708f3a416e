"""The gathered links of a file: references, each once for the part in which it stands, the nodes that they mention,
and keys that stand for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detent.documents.formats import format_of
from detent.knowledge import Alias, Mention, Node, Reference
from detent.sources.files.folder import DIRECTORY, FILE, IMAGE
from detent.sources.files.linking.paths import is_key
from detent.sources.files.nodes import part_key

IMPORTS, CONSUMES, LINKS_TO, DOCUMENTS = "IMPORTS", "CONSUMES", "LINKS_TO", "DOCUMENTS"
SCOPE, LIBRARY, ADDRESS = "Scope", "Library", "Address"

MOST_CANDIDATES = 6
"""The largest number of targets that one name may have."""

_STRONGEST = ("inherit", "call", "use")


@dataclass(frozen=True, slots=True)
class Linked:
    """The links of a file and its parts: by the key of the part, "" for the file itself. `mentions` are the libraries
    and addresses among that, each once. `aliases` are other keys of the file and of its parts, and of what it takes
    over from other files."""

    references: Mapping[str, Sequence[Reference]]
    mentions: Sequence[Mention]
    aliases: Sequence[Alias] = ()


class Gathered:
    """The references of the file at `path`; none that leads from a part to itself, or to what no key can be."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._references: dict[str, dict[tuple[str, str, str], Reference]] = {}
        self._mentions: dict[tuple[str, str], Mention] = {}
        self._aliases: dict[tuple[str, str], set[str]] = {}

    @property
    def linked(self) -> Linked:
        references = {part: tuple(found.values()) for part, found in self._references.items()}
        aliases = [Alias(*name, of) for name, meant in self._aliases.items() if len(meant) == 1 for of in meant]
        return Linked(references, tuple(self._mentions.values()), tuple(aliases))

    def file(self, part: str, type_: str, path: str, properties: Mapping[str, Any] | None = None) -> None:
        """Refer to another file."""
        if path != self.path:
            label = IMAGE if format_of(path).name == "image" else FILE
            self._refer(part, Reference(type_, label, path, properties=properties or {}))

    def directory(self, part: str, type_: str, path: str) -> None:
        """Refer to a folder, the root being "" or "."."""
        self._refer(part, Reference(type_, DIRECTORY, path or "."))

    def scope(self, part: str, type_: str, file: str, scope: str, properties: Mapping[str, Any] | None = None) -> None:
        """Refer to a scope of a file, by the scope's key."""
        if is_key(file) and is_key(scope) and (file, scope) != (self.path, part):
            self._refer(part, Reference(type_, SCOPE, part_key(file, scope), properties=properties or {}))

    def section(self, part: str, label: str, key: str, file: str) -> None:
        """Refer to another section, of a file or of this one."""
        if is_key(file) and (file, key) != (self.path, part):
            self._refer(part, Reference(LINKS_TO, label, part_key(file, key)))

    def section_alias(self, label: str, anchor: str, key: str) -> None:
        """Say that a section of this file is meant by an anchor."""
        if is_key(anchor):
            self._alias(label, part_key(self.path, anchor), part_key(self.path, key))

    def file_alias(self, key: str) -> None:
        """Say that the file is known by another key, too."""
        self._alias(FILE, key, self.path)

    def scope_alias(self, place: str, name: str, file: str, scope: str) -> None:
        """Say that a name in one place, a file or a folder, means a scope of a file."""
        if is_key(place) and is_key(name) and is_key(file) and is_key(scope):
            self._alias(SCOPE, part_key(place, name), part_key(file, scope))

    def library(self, ecosystem: str, name: str) -> None:
        """Say that the file imports something that is not of this project."""
        if name and ".." not in name:
            self._mention("", IMPORTS, LIBRARY, f"{ecosystem}:{name}", name)

    def address(self, part: str, url: str) -> None:
        """Refer to an address. Its key says all there is to say: nobody searches for one by words."""
        self._mention(part, LINKS_TO, ADDRESS, url, "")

    def _mention(self, part: str, type_: str, label: str, key: str, title: str) -> None:
        if is_key(key):
            self._mentions.setdefault((label, key), Mention(label, key, Node(title)))
            self._refer(part, Reference(type_, label, key))

    def _alias(self, label: str, key: str, of: str) -> None:
        """Keep an alias. Of one that is said to mean several things, it is not known which counts: it is left out."""
        if is_key(key) and is_key(of) and key != of:
            self._aliases.setdefault((label, key), set()).add(of)

    def _refer(self, part: str, reference: Reference) -> None:
        """Keep a reference. Of several with the same target, it is the first that counts, or the strongest kind."""
        if not is_key(reference.key):
            return
        found = self._references.setdefault(part, {})
        target = reference.type, reference.label, reference.key
        if target not in found or _strength(reference) < _strength(found[target]):
            found[target] = reference


def _strength(reference: Reference) -> int:
    kind = reference.properties.get("kind", _STRONGEST[-1])
    return _STRONGEST.index(kind) if kind in _STRONGEST else len(_STRONGEST)
