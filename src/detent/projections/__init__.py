"""The graph in the formats of other programs: pure writers of nodes and edges, which know no database.

A node is a mapping with id, source, label, key, state, title, text, properties, content_hash, parent_id and
shared; an edge one with from_id, type, to_id, position and properties. They come in portions, nodes before edges.
"""

from detent.projections.graphml import GraphML
from detent.projections.writer import Record, Writer

__all__ = ["GraphML", "Record", "Writer"]
