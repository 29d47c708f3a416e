"""The command `detent`, one module per noun.

A command reads its arguments, calls the application, and prints: sentences and tables for people, one JSON
document for programs. It decides nothing about items. Slow imports happen inside the functions that need them, so
that help and mistakes are answered at once.
"""

from detent.cli.program import main

__all__ = ["main"]
