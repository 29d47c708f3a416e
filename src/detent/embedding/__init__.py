"""Embedding: texts become vectors.

A provider is given texts and returns one vector of length 1 for each, in the same order. Which provider it is, and
which texts are left out, is decided in `[embedding]` of the configuration. Detent's own providers register the way a
user's do. What a provider needs is imported when it is opened, and a model is loaded when it is first used.

Nothing here knows of items or of a database. Nothing here waits or tries again either: an error says what went wrong
and how long a service asks to wait, and whoever called decides.
"""

from detent.embedding.budget import Budget
from detent.embedding.provider import Provider, Vectors
from detent.embedding.registry import open_provider, register

__all__ = ["Budget", "Provider", "Vectors", "open_provider", "register"]
