"""Place new concepts in an existing taxonomy.

>>> from taxoexpan import Taxonomy, TaxoExpan, expand_file
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taxoexpan.errors import TaxoExpanError
from taxoexpan.taxonomy import Concept, Taxonomy

if TYPE_CHECKING:
    from taxoexpan.expansion import expand_file
    from taxoexpan.features.glossary.glossary import Glossary
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.suggestions import Suggestion

__all__ = [
    "Concept",
    "Glossary",
    "Suggestion",
    "TaxoExpan",
    "TaxoExpanError",
    "Taxonomy",
    "expand_file",
]

_LAZY = {
    "Glossary": "taxoexpan.features.glossary.glossary",
    "Suggestion": "taxoexpan.placement.suggestions",
    "TaxoExpan": "taxoexpan.model",
    "expand_file": "taxoexpan.expansion",
}


def __getattr__(name: str) -> Any:
    """Import torch only when a model is used: reading a taxonomy does not need it."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'taxoexpan' has no attribute {name!r}")
