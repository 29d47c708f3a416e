"""Parsing: from a file's bytes to its parts and to what it refers to. Pure, and safe with any bytes."""
