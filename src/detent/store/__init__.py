"""The store: the only place that knows SQL, and the only writer.

An item is moved by its holder: by its place while it rests, by its lease's token while a worker has it. The result
of a step is written in one transaction with the item's new state (`settling`), and counted (`tallies`) and
recorded (`journal`) in that same transaction. Nothing here decides which move is legal (that is
`detent.lifecycle`) and nothing here runs a handler (that is `detent.worker`).
"""

from detent.store.database import Database
from detent.store.ledger.journal import Entry
from detent.store.ledger.kinds import Kind
from detent.store.ledger.leases import Cursor, Holder, Stage
from detent.store.ledger.listing import Listed, Page, Story
from detent.store.ledger.settling import Receipt, Settled
from detent.store.ledger.sources import Origin
from detent.store.ledger.tallies import Tally
from detent.store.store import Store

__all__ = [
    "Cursor",
    "Database",
    "Entry",
    "Holder",
    "Kind",
    "Listed",
    "Origin",
    "Page",
    "Receipt",
    "Settled",
    "Stage",
    "Store",
    "Story",
    "Tally",
]
