"""What has a query's phrases, found once for all parts of a search.

A rare phrase may be far from what the query means: the index of words knows what has it, and to go there by way of
the nearest would be to read most of the texts.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from detent.errors import DatabaseAway
from detent.knowledge.query import Query
from detent.search.inquiry import Inquiry
from detent.store import Store
from detent.store.texts import searching

if TYPE_CHECKING:
    from detent.store.texts.searching import TextHits

log = logging.getLogger("detent.search")

MOST_HAVING = 2000
"""Where fewer have the phrases of the query, only those are searched."""


async def narrowed(store: Store, inquiry: Inquiry) -> Inquiry:
    """The inquiry, among those alone that have the phrases; as it is if there are none, or too many have them."""
    found = await _having(store, inquiry) if inquiry.query.phrases else None
    if found is None or not _can_stand_for_all(found):
        return inquiry
    inquiry.notes.update(dict.fromkeys(found.notes))
    having = frozenset(hit.item_id for hit in found.hits)
    return replace(inquiry, scope=replace(inquiry.scope, allowed=having, wide=False), met=True)


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
    except Exception:  # without that index it takes longer, and is found all the same
        log.debug("The index of words could not tell what has the phrases.", exc_info=True)
        return None


def _can_stand_for_all(found: TextHits) -> bool:
    """Whether no other text is known to have the phrases, or can be compared with them in reasonable time. In a
    language where the phrases have only words that are not looked for, every text meets them."""
    heeded = all(note.endswith("is not heeded.") or note == searching.NOT_ALL_COMPARED for note in found.notes)
    return len(found.hits) < MOST_HAVING and heeded and all(found.lexemes.values())
