"""The graph as a whole: its digest, writing it out, and reading it in again.

Writing out and taking the digest read the whole database at one moment, a row at a time; reading in writes it in
steps, each a transaction of its own, and may be repeated: what is there already is replaced by the same.
"""

from detent.store.exchange.digest import Digest, digest
from detent.store.exchange.dump import Dump
from detent.store.exchange.load import Loaded, load

__all__ = ["Digest", "Dump", "Loaded", "digest", "load"]
