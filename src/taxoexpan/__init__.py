"""Grow a taxonomy: place new concepts in the taxonomy that you have.

>>> from taxoexpan import Concept, TaxoExpan, Taxonomy
"""

from typing import TYPE_CHECKING, Any

from taxoexpan.taxonomy import Concept, Taxonomy

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan

__all__ = ["Concept", "TaxoExpan", "Taxonomy"]


def __getattr__(name: str) -> Any:
    """Import torch only for those who train or place: reading a taxonomy does not need it."""
    if name == "TaxoExpan":
        from taxoexpan.model import TaxoExpan

        return TaxoExpan
    raise AttributeError(f"module 'taxoexpan' has no attribute {name!r}")
