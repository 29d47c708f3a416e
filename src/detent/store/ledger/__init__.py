"""The ledger: items with their states, and everything that moves them.

Items of a source with one label are a kind (`kinds`). An item at rest has a place; one under way is named in a lease
(`leases`). `settling` writes the outcomes and steps of leased items, decided by `verdict`, in one transaction with the
journal and the tallies. `items` and `steering` move items by hand. `bounds` admits items of sources that grow along
links, `pacing` shares the rate limits of services, and `listing` reads pages of items.

A move that the lifecycle does not have is never made, and a write without the lease's token is never kept.
"""
