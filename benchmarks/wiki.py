"""A wiki made searchable: all of a dump, a graph grown over the API, and links written among a million known titles."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import postgres, wiki_api, wiki_dump, wiki_links
from benchmarks.figures import Figure


def measure(tell: Callable[[str], None]) -> list[Figure]:
    """A dump in MB/s over one and two processes, articles over the API beside a bare loop, and what links cost."""
    with postgres.server() as server:
        return [part for measured in (wiki_dump, wiki_api, wiki_links) for part in measured.measure(server, tell)]
