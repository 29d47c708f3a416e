"""TypeScript imports as JavaScript does."""

from detent.sources.files.linking.languages.javascript import link, root

__all__ = ["link", "root"]
