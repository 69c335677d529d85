"""The taxonomy: an immutable graph of concepts, with their names and ids, and additions to it.

Exports `Taxonomy` and `Concept`, and the changes `Additions`, `Move` and `Provenance`.
"""

from taxoexpan.taxonomy.additions import Additions, Move, Provenance
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy

__all__ = ["Additions", "Concept", "Move", "Provenance", "Taxonomy"]
