"""The API of a MediaWiki: questions go out, and what comes back is made into pages.

`client` has the questions that can be asked. `connection` sends one of them over HTTP and waits for its turn before;
`failure` says what a refusal means; `gathering` puts together what came in several answers, and finds where each title
leads; `reading` makes pages of it. Nothing here tries again: an error says whether and when that is worth it.
"""

from detent.sources.wiki.client.client import Client
from detent.sources.wiki.client.connection import Turn
from detent.sources.wiki.client.failure import WikiFailed
from detent.sources.wiki.client.reading import Revision

__all__ = ["Client", "Revision", "Turn", "WikiFailed"]
