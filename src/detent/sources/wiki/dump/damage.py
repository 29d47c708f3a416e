"""Faults in the files of a dump. Each message says which file, where, and what to do about it."""

from __future__ import annotations

from detent.errors import DetentError

_AGAIN = "Download it again, and compare its checksum with the one beside it."


class DumpUnreadable(DetentError):
    """A dump cannot be read, or not beyond some point. Everything read before that is good."""


class DumpMissing(DumpUnreadable):
    """There is no dump at the given path. Correct the path."""

    def __init__(self, path: object, reason: str = "") -> None:
        super().__init__(reason or f"There is no dump {path}. Correct the path, or download it.")


class DumpDamaged(DumpUnreadable):
    """A file of a dump is cut off, or is not what its name says. Download it again."""

    def __init__(self, file: object, place: str, reason: str, advice: str = _AGAIN) -> None:
        super().__init__(f"The dump {file} is damaged at {place}: {reason.rstrip('.')}. {advice}")


class NoDump(DumpUnreadable):
    """The given file is not a dump: its beginning is wrong. Name the dump."""

    def __init__(self, file: object, beginning: str) -> None:
        super().__init__(
            f"The file {file} is no dump of a wiki: it does not begin with {beginning}. Name one that MediaWiki has "
            "written, such as enwiki-20260101-pages-articles-multistream.xml.bz2."
        )


class DumpRefused(DumpUnreadable):
    """A file of a dump contains something that MediaWiki never writes and that may do harm. Find out where it
    comes from."""

    def __init__(self, file: object, place: str, reason: str) -> None:
        super().__init__(
            f"The dump {file} is not read beyond {place}: {reason.rstrip('.')}. "
            "MediaWiki does not write such files; take one that it has written."
        )


class IndexMismatched(DumpUnreadable):
    """The index of a multistream dump names other places than the file has. Use the index that belongs to the dump."""

    def __init__(self, index: object, file: object, reason: str) -> None:
        super().__init__(
            f"The index {index} does not belong to the dump {file}: {reason.rstrip('.')}. Download both again, of the "
            "same day and complete; or move the index away: without it, places are looked up in the dump."
        )


class CacheUnwritable(DumpUnreadable):
    """A derived file for finding pages in the dump cannot be written. Free some space, or name another folder."""

    def __init__(self, folder: object, file: object, reason: object) -> None:
        super().__init__(
            f"The files for finding pages in the dump {file} cannot be written to {folder}: {reason}. "
            "Free some space there, or name another folder."
        )
