"""The handlers of the files source. A file's node, its parts and all that they refer to are found in one go, since its
links need nothing but the file and what is known of its folder: it goes `parsing → parsed → linking → linked` in one
commit. A folder lists what is in it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from detent.documents import formats
from detent.documents.decoding import is_binary
from detent.documents.formats import format_of, parse
from detent.documents.parsed import Parsed, Unparsable
from detent.knowledge import Done, Failed, Item, Node, Outcome, Reference, Skipped
from detent.knowledge.splitting import split
from detent.lifecycle import Trouble
from detent.sources.files import linking
from detent.sources.files.content import Content, read
from detent.sources.files.discovering import fingerprint_in
from detent.sources.files.folder import DIRECTORY, TOO_LONG, Folder, FolderAway, key_of, path_of
from detent.sources.files.linking import Linked, Roots
from detent.sources.files.nodes import CONTAINS, children, file_node
from detent.sources.files.settings import FolderSettings

States = str | Sequence[str] | None
LINKED = ("parsed", "linking", "linked")
"""The states that an entry goes through once it is parsed."""

NO_LINKS = Linked({}, ())
_LOOK_SECONDS = 1.0
"""The time after which the folder is read again where it differs from a stamp, which may be the older one."""


class Handling:
    """The handlers for the entries of one folder."""

    def __init__(self, settings: FolderSettings) -> None:
        self._settings = settings
        self._folder = Folder(settings)
        self._roots = Roots(self._folder)
        self._differing: dict[tuple[str, str], float] = {}
        """When reading the folder again did not help, by the fingerprint found and the one stamped."""

    def parse(self, item: Item) -> Outcome:
        """Read an entry, and write what is in it and what it refers to."""
        return self._handle(item, LINKED)

    def link(self, item: Item) -> Outcome:
        """Do the same for an entry that waits in `parsed`, as a file does whose links could not be found."""
        outcome = self._handle(item, None)
        return Done(note=outcome.reason) if isinstance(outcome, Skipped) else outcome

    def _handle(self, item: Item, to: States) -> Outcome:
        path = path_of(item.key)
        if key_of(path) != item.key:
            return Skipped(TOO_LONG)
        if item.label == DIRECTORY:
            return _list(Folder(self._settings), path, to)
        found = read(self._folder, path, self._settings.most_bytes)
        if isinstance(found, Skipped) and item.node is not None:
            return Done(emptied=True, to=to, note=found.reason)
        if not isinstance(found, Content):
            return found
        if found.data is None:
            problem = f"It is larger than {self._settings.most_bytes:,} bytes, so that nothing of it was read."
            parsed = Parsed(format_of(path).name, problems=[problem])
            return self._done(item, parsed, NO_LINKS, size=found.size, digest=f"{found.size} bytes", to=to)
        return self._parse(item, path, found.data, to)

    def _roots_of(self, item: Item, path: str) -> Roots:
        """The roots of the folder, as they were when the file was stamped or later: finding them takes a while."""
        known, stamped = linking.fingerprint(path, self._roots), fingerprint_in(item.content_hash or "")
        looked = self._differing.get((known, stamped), float("-inf"))
        if known != stamped and time.monotonic() - looked > _LOOK_SECONDS:
            self._roots = Roots(Folder(self._settings))
            self._differing[linking.fingerprint(path, self._roots), stamped] = time.monotonic()
        return self._roots

    def _parse(self, item: Item, path: str, data: bytes, to: States) -> Outcome:
        roots = self._roots_of(item, path)
        digest = self._digest(path, data, roots)
        if item.node is not None and item.node.content_hash == digest:
            return Done(to=to, note="as it was")
        try:
            parsed = parse(data, path)
        except Unparsable as error:
            return Failed(str(error), Trouble.MALFORMED)
        try:
            linked = linking.links(item.key, parsed, roots)
        except Exception:
            if to is None:
                raise
            # What was parsed is written, and the file goes to linking, which fails with the reason.
            return self._done(item, parsed, NO_LINKS, size=len(data), digest=None, to="parsed")
        return self._done(item, parsed, linked, size=len(data), digest=digest, to=to)

    def _done(self, item: Item, parsed: Parsed, linked: Linked, *, size: int, digest: str | None, to: States) -> Done:
        pieces = split(parsed.text, self._settings.passage_size)
        return Done(
            file_node(item.key, parsed, pieces, size, digest),
            linked.references.get("", ()),
            children=children(item.key, parsed, pieces, linked.references, self._settings.passage_size),
            mentions=linked.mentions,
            aliases=linked.aliases,
            to=to,
        )

    def _digest(self, path: str, data: bytes, roots: Roots) -> str:
        """A text that is the same only if the file is, and everything that its nodes and links depend on."""
        kind = format_of(path)
        media = formats.MEDIA.version if kind is formats.PLAIN and is_binary(data) else ""
        versions = f"{kind.name}{kind.version}{media} {linking.VERSION} {self._settings.passage_size}"
        return f"{versions} {linking.fingerprint(path, roots)} {hashlib.sha256(data).hexdigest()}"


def _list(folder: Folder, path: str, to: States) -> Outcome:
    """List a folder."""
    entry = folder.entry(path)
    if entry.reason:
        return Skipped(entry.reason)
    if not entry.is_folder:
        return Failed("It is no folder any more.", Trouble.NOT_FOUND)
    try:
        inside = [Reference(CONTAINS, each.label, each.key) for each in folder.entries(path)]
    except FolderAway as error:
        return Failed(str(error), Trouble.FORBIDDEN)
    return Done(Node(folder.name(path), "", {"path": key_of(path)}), inside, to=to)
