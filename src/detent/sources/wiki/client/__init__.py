"""The API of a MediaWiki: questions go out, and what comes back is made into pages.

`client` has the questions that can be asked. `connection` sends one of them, as `detent.services` does it politely;
`failure` says what a wiki's errors mean; `gathering` puts together what came in several answers, and finds where each
title leads; `answers` makes pages of it. Nothing here tries again by itself: an error says whether and when that is
worth it, and whoever makes a client may say that it is done.
"""

from detent.sources.wiki.client.answers import Revision
from detent.sources.wiki.client.client import TITLES_AT_ONCE, Client
from detent.sources.wiki.client.connection import read_address
from detent.sources.wiki.client.failure import TOO_MANY, WikiFailed

__all__ = ["TITLES_AT_ONCE", "TOO_MANY", "Client", "Revision", "WikiFailed", "read_address"]
