"""Full-text search: an inverted index of the nodes' texts, ranked by BM25.

A text has a number, which changes whenever the text changes. Whoever writes a node records in `text_change` the
number that came and the one that is gone. `index` applies these changes: new texts become blocks, which are
written once, and gone texts are marked dead in theirs. `tidy` merges small blocks into larger ones, without their
dead texts. A search reads the best entries of the blocks, and the few texts that are not in a block yet, all at
one moment of the database; a text that its node no longer has is never found.

PostgreSQL splits texts into words; everything after that is NumPy. Never done here: reading all entries of a word
because it is common, and changing what a block says about a text.
"""

from detent.store.texts.index import Statistics
from detent.store.texts.search import TextHit, TextHits
from detent.store.texts.texts import Texts

__all__ = ["Statistics", "TextHit", "TextHits", "Texts"]
