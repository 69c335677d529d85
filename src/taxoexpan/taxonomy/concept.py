"""A concept: an id, a label, synonyms and a definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from taxoexpan.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Concept:
    """One node of a taxonomy; only the id identifies it, labels may repeat."""

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False


def as_concepts(concepts: Iterable[str | Concept]) -> list[Concept]:
    """Return a list of concepts, given concepts or labels."""
    if isinstance(concepts, str | Concept):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list: [{concepts!r}]")
    if isinstance(concepts, Mapping) or not isinstance(concepts, Iterable):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list of labels or Concepts")
    return [as_concept(concept) for concept in concepts]


def as_concept(concept: str | Concept) -> Concept:
    """Return a concept, or make one without an id from a label."""
    made = Concept("", concept) if isinstance(concept, str) else concept
    if not isinstance(made, Concept) or not made.label.strip():
        raise ConfigurationError(f"{concept!r} is not a label or a Concept; give one of the two")
    return made
