"""Search: by words, by meaning, by both, and around given nodes.

A search asks the parts of the store that can answer it, each for a ranking, and fuses the rankings into one. A
part that cannot answer is named in the answer while the others still answer: nobody takes a fault for an empty
result.
"""

from detent.search.answer import Answer, Hit, Suggestion
from detent.search.search import MODES, Search

__all__ = ["MODES", "Answer", "Hit", "Search", "Suggestion"]
