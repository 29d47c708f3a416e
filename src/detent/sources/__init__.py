"""Sources: where knowledge comes from, declared as plain data.

A source names its labels with the lifecycle each follows, says how items are discovered, and has one handler
per stage. Detent's own sources are declared the same way as a user's. Nothing here writes to the database.
"""

from detent.sources.source import Handler, PartlyTold, PartlyUnseen, Source, require_sources

__all__ = ["Handler", "PartlyTold", "PartlyUnseen", "Source", "require_sources"]
