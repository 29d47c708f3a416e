"""Vectors: near in meaning, found fast, and never lost while their index is built.

A vector belongs to a text, known by its hash, and to a model; items with the same text share it. Each model has
its own tables, called parts: a fresh one, which is written to and searched by comparing every vector in it, and
full ones with an index that is built in one go, which is many times faster than adding to an index (`merge`).
Parts of similar size are merged into a larger one, without vectors that nobody refers to any more. The list of
parts is in the database (`parts`). A writer announces the list it uses; whoever changes the list waits until the
writers of the previous one are done, so that neither blocks the other. Readers announce nothing: if a table they
were about to read is gone, they read the list again.

Nothing here turns texts into vectors, and nothing here decides which text an item has. This file imports nothing:
a process that never uses a vector starts without NumPy.
"""
