"""The handlers of the files source. Parsing reads a file, and writes its node and its parts, with what these refer to,
and what all of them are known by; linking writes what the file itself refers to. A folder lists what is in it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from detent.documents import formats
from detent.documents.decoding import is_binary
from detent.documents.formats import format_of, parse
from detent.documents.parsed import Parsed, Unparsable
from detent.knowledge import Done, Failed, Item, Mention, Node, Outcome, Reference, Skipped
from detent.knowledge.splitting import split
from detent.lifecycle import Trouble
from detent.sources.files import linking
from detent.sources.files.content import Content, read
from detent.sources.files.discovering import fingerprint_in
from detent.sources.files.folder import TOO_LONG, Folder, FolderAway, key_of, path_of
from detent.sources.files.labels import DIRECTORY, label_of
from detent.sources.files.linking import Linked, Roots
from detent.sources.files.nodes import CONTAINS, children, file_node
from detent.sources.files.settings import FolderSettings

_LOOK_SECONDS = 1.0
"""How soon the folder is looked at again where it is another one than a stamp says: that may be the older one."""


class Handling:
    """What is done with the entries of one folder."""

    def __init__(self, settings: FolderSettings) -> None:
        self._settings = settings
        self._folder = Folder(settings)
        self._roots = Roots(self._folder)
        self._differing: dict[tuple[str, str], float] = {}
        """What is known now and what was stamped, where looking again was of no use, and when that was."""

    def parse(self, item: Item) -> Outcome:
        """Read an entry, and say what is in it."""
        path = path_of(item.key)
        if key_of(path) != item.key:
            return Skipped(TOO_LONG)
        if item.label == DIRECTORY:
            return _list(Folder(self._settings), path)
        found = read(self._folder, path, self._settings.most_bytes)
        if isinstance(found, Skipped) and item.node is not None:
            return Done(emptied=True, checkpoint=_to_be_linked((), ()), note=found.reason)
        if not isinstance(found, Content):
            return found
        if found.data is None:
            problem = f"It is larger than {self._settings.most_bytes:,} bytes, so that nothing of it was read."
            parsed = Parsed(format_of(path).name, problems=[problem])
            return self._done(item, parsed, Linked({}, ()), found, f"{found.size} bytes")
        return self._parse(item, path, found.data, self._roots_of(item, path))

    def link(self, item: Item) -> Outcome:
        """Write what the file refers to, as parsing found it."""
        if item.checkpoint is None:
            return Done()
        references = [Reference(*each) for each in item.checkpoint["references"]]
        mentions = [Mention(label, key, Node(title)) for label, key, title in item.checkpoint["mentions"]]
        return Done(references=references, mentions=mentions)

    def _roots_of(self, item: Item, path: str) -> Roots:
        """What is known of the folder, as it was when the file was stamped or later: it takes a while to find out."""
        known, stamped = linking.fingerprint(path, self._roots), fingerprint_in(item.content_hash or "")
        looked = self._differing.get((known, stamped), float("-inf"))
        if known != stamped and time.monotonic() - looked > _LOOK_SECONDS:
            self._roots = Roots(Folder(self._settings))
            self._differing[linking.fingerprint(path, self._roots), stamped] = time.monotonic()
        return self._roots

    def _parse(self, item: Item, path: str, data: bytes, roots: Roots) -> Outcome:
        digest = self._digest(path, data, roots)
        if item.node is not None and item.node.content_hash == digest:
            return Done(note="as it was")
        try:
            parsed = parse(data, path)
        except Unparsable as error:
            return Failed(str(error), Trouble.MALFORMED)
        linked = linking.links(item.key, parsed, roots)
        return self._done(item, parsed, linked, Content(data, len(data)), digest)

    def _done(self, item: Item, parsed: Parsed, linked: Linked, content: Content, digest: str) -> Done:
        size = self._settings.passage_size
        pieces = split(parsed.text, size)
        own = linked.references.get("", ())
        of_parts = [each for part, references in linked.references.items() if part for each in references]
        return Done(
            file_node(item.key, parsed, pieces, content.size, digest),
            children=children(item.key, parsed, pieces, linked.references, size),
            mentions=_mentioned(linked, of_parts),
            aliases=linked.aliases,
            checkpoint=_to_be_linked(own, _mentioned(linked, own)),
        )

    def _digest(self, path: str, data: bytes, roots: Roots) -> str:
        """What is the same only if the file is, and all that its nodes and links depend on."""
        kind = format_of(path)
        media = formats.MEDIA.version if kind is formats.PLAIN and is_binary(data) else ""
        versions = f"{kind.name}{kind.version}{media} {linking.VERSION} {self._settings.passage_size}"
        return f"{versions} {linking.fingerprint(path, roots)} {hashlib.sha256(data).hexdigest()}"


def _mentioned(linked: Linked, references: Sequence[Reference]) -> list[Mention]:
    """Those of the mentions that these references lead to."""
    targets = {(each.label, each.key) for each in references}
    return [each for each in linked.mentions if (each.label, each.key) in targets]


def _to_be_linked(references: Sequence[Reference], mentions: Sequence[Mention]) -> dict[str, Any]:
    """What linking is to write, as it is kept until then."""
    return {
        "references": [(each.type, each.label, each.key, each.source, dict(each.properties)) for each in references],
        "mentions": [(each.label, each.key, each.node.title) for each in mentions],
    }


def _list(folder: Folder, path: str) -> Outcome:
    """What is in a folder."""
    entry = folder.entry(path)
    if entry.reason:
        return Skipped(entry.reason)
    if not entry.is_folder:
        return Failed("It is no folder any more.", Trouble.NOT_FOUND)
    try:
        inside = [Reference(CONTAINS, label_of(each), each.key) for each in folder.entries(path)]
    except FolderAway as error:
        return Failed(str(error), Trouble.FORBIDDEN)
    return Done(Node(folder.name(path), "", {"path": key_of(path)}), checkpoint=_to_be_linked(inside, ()))
