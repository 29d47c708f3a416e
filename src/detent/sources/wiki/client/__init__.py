"""The API of a MediaWiki: questions go out, and what comes back is made into pages.

`client` has the questions that can be asked. `connection` sends one of them over HTTP and waits for its turn before;
`failure` says what a refusal means; `gathering` puts together what came in several answers, and finds where each title
leads; `reading` makes pages of it. Nothing here tries again by itself:
an error says whether and when that is worth it, and whoever makes a client may say that it is done.
"""

from detent.sources.wiki.client.address import read_address
from detent.sources.wiki.client.answers import Revision
from detent.sources.wiki.client.client import TITLES_AT_ONCE, Client
from detent.sources.wiki.client.connection import Again, Hold, Turn
from detent.sources.wiki.client.failure import TOO_MANY, WikiFailed

__all__ = ["TITLES_AT_ONCE", "TOO_MANY", "Again", "Client", "Hold", "Revision", "Turn", "WikiFailed", "read_address"]
