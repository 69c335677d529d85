"""A concept: an id, a label, synonyms and a definition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concept:
    """One node of a taxonomy; only the id identifies it, labels may repeat."""

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False
