"""Sources: where knowledge comes from, declared as plain data.

A source names its labels with the lifecycle each follows, says how items are discovered, and has one handler
per stage. A type of source is what `detent add TYPE` makes sources of: the package that has it registers it, with its
options. Detent's own sources are declared and registered the same way as other people's. Nothing here writes to the
database.
"""

from detent.sources.options import Option
from detent.sources.source import Handler, PartlyTold, PartlyUnseen, Source, require_sources
from detent.sources.types import Adding, Prepared, SourceType

__all__ = [
    "Adding",
    "Handler",
    "Option",
    "PartlyTold",
    "PartlyUnseen",
    "Prepared",
    "Source",
    "SourceType",
    "require_sources",
]
