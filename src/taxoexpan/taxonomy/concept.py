"""A concept: an id, a label, synonyms and a definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from taxoexpan.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Concept:
    """One node of a taxonomy, identified only by its id; labels may repeat."""

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False


def as_concepts(concepts: Iterable[str | Concept]) -> list[Concept]:
    """Convert concepts or labels to a list of concepts."""
    if isinstance(concepts, str | Concept):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list: [{concepts!r}]")
    if isinstance(concepts, Mapping) or not isinstance(concepts, Iterable):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list of labels or Concepts")
    made = [Concept("", each) if isinstance(each, str) else each for each in concepts]
    for each in made:
        if not isinstance(each, Concept) or not each.label.strip():
            raise ConfigurationError(f"{each!r} is not a label or a Concept; give one of the two")
    return made
