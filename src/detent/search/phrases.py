"""The texts that have a query's phrases, found once for all parts of a search.

A rare phrase may be far from the meaning of the query. The text index knows the texts that have it; finding them
through the nearest vectors would mean reading most of the texts.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from detent.errors import DatabaseAway
from detent.knowledge.query import Query
from detent.search.inquiry import Inquiry
from detent.store import Store
from detent.store.texts.asking import NOT_HEEDED

if TYPE_CHECKING:
    from detent.store.texts.search import TextHits

log = logging.getLogger("detent.search")

MOST_HAVING = 2000
"""If fewer texts than this have the phrases of the query, only those are searched."""


class Narrowed(NamedTuple):
    """An inquiry, as asked of the text index and of the vectors."""

    by_words: Inquiry
    by_meaning: Inquiry


async def narrow(store: Store, inquiry: Inquiry, *, both: bool) -> Narrowed:
    """Narrow the inquiry to the texts that have the phrases; leave it alone if there are no phrases, or too many
    texts.

    If it is not known for all texts whether they have the phrases, only the search by meaning is narrowed, and
    only if words are searched too. Phrases and exclusions that cannot be used are noted.
    """
    query = inquiry.query
    if query.phrases or query.excluded:
        inquiry.notes.update(dict.fromkeys(await store.texts.unheeded(query, inquiry.scope.kinds)))
    found = await _having(store, inquiry) if query.phrases else None
    if found is None or len(found.hits) >= MOST_HAVING or not all(found.lexemes.values()):
        return Narrowed(inquiry, inquiry)  # without lexemes in a language, all texts in it meet the phrases
    having = frozenset(hit.item_id for hit in found.hits)
    among = replace(inquiry, scope=replace(inquiry.scope, allowed=having, wide=False), met=True)
    if all(note.endswith(NOT_HEEDED) for note in found.notes):
        return Narrowed(among, among)
    return Narrowed(inquiry, among if both and having else inquiry)


async def _having(store: Store, inquiry: Inquiry) -> TextHits | None:
    query, scope = inquiry.query, inquiry.scope
    required = Query(phrases=query.phrases, excluded=query.excluded)
    check = scope.check if scope.wide else None
    try:
        return await store.texts.search(
            required, limit=MOST_HAVING, exact=1, kinds=scope.kinds, allowed=scope.allowed, check=check
        )
    except DatabaseAway:
        raise
    except Exception:  # without that index it takes longer, but still finds everything
        log.debug("The index of words could not tell what has the phrases.", exc_info=True)
        return None
