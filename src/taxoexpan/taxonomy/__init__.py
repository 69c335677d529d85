"""The taxonomy itself: an immutable graph of concepts, their names and ids, and additions to it."""

from taxoexpan.taxonomy.additions import Additions, Move, Provenance
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy

__all__ = ["Additions", "Concept", "Move", "Provenance", "Taxonomy"]
