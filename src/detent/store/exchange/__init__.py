"""The graph as a whole: its digest, export and import.

Export and digest read the whole database at one moment, a row at a time. Import writes it in chunks, each a
transaction of its own, and may be repeated: existing items are replaced by the same data.
"""

from detent.store.exchange.digest import Digest, digest
from detent.store.exchange.dump import Dump
from detent.store.exchange.load import Loaded, load

__all__ = ["Digest", "Dump", "Loaded", "digest", "load"]
