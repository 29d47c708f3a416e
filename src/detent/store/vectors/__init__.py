"""Vectors: what is near in meaning, found fast, and never lost while its index is made.

A vector belongs to a text, known by its hash, and to a model; items with the same text share it. Each model has its
own tables, called parts: one that is fresh, written to and searched by comparing with every vector in it, and others
that are full and have an index, made in one go, which is many times faster than adding to one (`merge`). Parts of
similar size are brought together in a larger one, and what nobody refers to any more stays behind then.

Which parts there are is a list in the database (`parts`). Whoever writes announces by which list; whoever changes
the list goes on when those who wrote by the one before are done, so that neither waits for the other. Readers
announce nothing: if a table is gone that they were about to read, they look at the list again.

Nothing here turns texts into vectors, and nothing here decides what an item's text is. This file imports nothing: a
process that never looks at a vector starts without NumPy.
"""
