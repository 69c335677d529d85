"""A concept: an id, a label, synonyms and a definition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concept:
    """One node of a taxonomy, identified only by its id; labels may repeat.

    Examples:
        >>> from taxoexpan import Concept
        >>> kefir = Concept("Q185583", "kefir", ("milk kefir",), "a fermented drink")
        >>> kefir.synonyms
        ('milk kefir',)
    """

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False
