"""Place new concepts in an existing taxonomy.

>>> from taxoexpan import Taxonomy, TaxoExpan, expand_file
"""

from __future__ import annotations

TYPE_CHECKING = False  # the import of `typing` would delay the start of the command line
if TYPE_CHECKING:
    from typing import Any

    from taxoexpan.errors import TaxoExpanError
    from taxoexpan.expansion import expand_file
    from taxoexpan.features.glossary.glossary import Glossary
    from taxoexpan.formats.taxonomy_io import read_taxonomy, write_taxonomy
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.suggesting.suggestions import Suggestion
    from taxoexpan.taxonomy import Concept, Taxonomy

__all__ = [
    "Concept",
    "Glossary",
    "Suggestion",
    "TaxoExpan",
    "TaxoExpanError",
    "Taxonomy",
    "expand_file",
    "read_taxonomy",
    "write_taxonomy",
]

_LAZY = {
    "Concept": "taxoexpan.taxonomy",
    "Glossary": "taxoexpan.features.glossary.glossary",
    "Suggestion": "taxoexpan.placement.suggesting.suggestions",
    "TaxoExpan": "taxoexpan.model",
    "TaxoExpanError": "taxoexpan.errors",
    "Taxonomy": "taxoexpan.taxonomy",
    "expand_file": "taxoexpan.expansion",
    "read_taxonomy": "taxoexpan.formats.taxonomy_io",
    "write_taxonomy": "taxoexpan.formats.taxonomy_io",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: reading files needs no torch, and the command line no numpy."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'taxoexpan' has no attribute {name!r}")
