"""The command `detent`, one module per noun.

A command reads its arguments, asks the store or the application, and prints: sentences and tables for people,
one JSON document for programs. It decides nothing about items. What takes long to import is imported inside
the functions that need it, so that help and mistakes are answered at once.
"""

from detent.cli.program import main

__all__ = ["main"]
