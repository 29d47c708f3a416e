"""What can be wrong with the files of a dump. Each message says which file, where, and what to do about it."""

from __future__ import annotations

from detent.errors import DetentError

_AGAIN = "Download it again, and compare its checksum with the one beside it."


class DumpUnreadable(DetentError):
    """A dump cannot be read, or not further than it was. What was read before is good."""


class DumpMissing(DumpUnreadable):
    """There is no dump where one was said to be. Correct the path."""

    def __init__(self, path: object, reason: str = "") -> None:
        super().__init__(reason or f"There is no dump {path}. Correct the path, or download it.")


class DumpDamaged(DumpUnreadable):
    """A file of a dump is cut off, or is not what its name says. Download it again."""

    def __init__(self, file: object, place: str, reason: str, advice: str = _AGAIN) -> None:
        super().__init__(f"The dump {file} is damaged at {place}: {reason.rstrip('.')}. {advice}")


class NoDump(DumpUnreadable):
    """A file was said to be a dump, and begins as none does. Name the dump."""

    def __init__(self, file: object, beginning: str) -> None:
        super().__init__(
            f"The file {file} is no dump of a wiki: it does not begin with {beginning}. Name one that MediaWiki has "
            "written, such as enwiki-20260101-pages-articles-multistream.xml.bz2."
        )


class DumpRefused(DumpUnreadable):
    """A file of a dump holds what no MediaWiki writes and what may do harm. Find out where it comes from."""

    def __init__(self, file: object, place: str, reason: str) -> None:
        super().__init__(
            f"The dump {file} is not read beyond {place}: {reason.rstrip('.')}. "
            "MediaWiki does not write such files; take one that it has written."
        )


class IndexMismatched(DumpUnreadable):
    """The index of a multistream dump tells of other places than the file has. Take the one that belongs to it."""

    def __init__(self, index: object, file: object, reason: str) -> None:
        super().__init__(
            f"The index {index} does not belong to the dump {file}: {reason.rstrip('.')}. Download both again, of the "
            "same day and both to their end; or put the index away: without it, places are looked up in the dump."
        )


class CacheUnwritable(DumpUnreadable):
    """What is made of a dump once, to find pages in it, cannot be kept. Make room, or name another folder."""

    def __init__(self, folder: object, file: object, reason: object) -> None:
        super().__init__(
            f"What is needed to find pages in the dump {file} cannot be written to {folder}: {reason}. "
            "Make room there, or name another folder."
        )
