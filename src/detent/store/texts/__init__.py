"""Full-text search: an inverted index of the nodes' texts, ranked by BM25.

A text has a number, which is another one whenever it changes. Who writes a node says in `text_change` which number
came and which is gone. `index` takes that over: new texts become blocks, which are written once, and gone ones are
marked dead in theirs. `tidy` merges small blocks into larger ones, without their dead. A search reads the best
entries of the blocks, and the few texts that are not in one yet, all at one moment of the database; a text whose node
is another by now is never found. PostgreSQL splits texts into words; everything after that is NumPy.

Never done here: reading all entries of a word because it is common, and changing what a block says of a text.
"""

from detent.store.texts.index import Statistics
from detent.store.texts.search import TextHit, TextHits
from detent.store.texts.texts import Texts

__all__ = ["Statistics", "TextHit", "TextHits", "Texts"]
