"""The files source: every file of a folder, parsed, linked and embedded, and again only when changed."""
