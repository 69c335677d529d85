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
        raise ConfigurationError(f"{concepts!r} is not a list", fix=f"give a list: [{concepts!r}]")
    if isinstance(concepts, Mapping) or not isinstance(concepts, Iterable):
        raise ConfigurationError(
            f"{concepts!r} is not a list", fix="give a list of labels or Concepts"
        )
    made = [Concept("", each) if isinstance(each, str) else each for each in concepts]
    for position, each in enumerate(made, start=1):
        if found := _problem(each):
            problem, fix = found
            raise ConfigurationError(f"number {position} of the list, {each!r}, {problem}", fix=fix)
    return made


def _problem(concept: object) -> tuple[str, str] | None:
    """Return what is wrong with an element of a list of concepts, and the fix, or None."""
    if not isinstance(concept, Concept):
        return "is not a label or a Concept", "give one of the two"
    if not concept.label.strip():
        return "has no name", "every concept needs one, so give it a label, or remove it"
    texts = (concept.id, concept.label, *concept.synonyms, concept.definition)
    if any(map(_has_surrogate, texts)):
        return "has a lone surrogate, which is half of a character", "remove it"
    return None


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
