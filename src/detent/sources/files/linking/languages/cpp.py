"""C++ includes as C does."""

from detent.sources.files.linking.languages.c import link

__all__ = ["link"]
