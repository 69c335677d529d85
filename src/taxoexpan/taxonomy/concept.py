"""A concept: an id and the words for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concept:
    """What a taxonomy holds: an id that is its only key, and the words for it."""

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False
