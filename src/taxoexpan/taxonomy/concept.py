"""A concept: an id, a label, synonyms and a definition."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.errors import ConfigurationError


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


def check_concept(concept: object) -> None:
    """Refuse what is not a concept, and a concept with texts of other types."""
    if not isinstance(concept, Concept):
        problem = f"{concept!r} is not a Concept"
        raise ConfigurationError(problem, fix="make one, such as Concept('1', 'tea')")
    for name in ("id", "label", "definition"):
        if not isinstance(getattr(concept, name), str):
            problem = f"{concept!r}: the {name} is not a text"
            raise ConfigurationError(problem, fix="give a text")
    synonyms = concept.synonyms
    if not isinstance(synonyms, tuple | list) or not all(isinstance(s, str) for s in synonyms):
        problem = f"{concept!r}: the synonyms are not a tuple of texts"
        raise ConfigurationError(problem, fix="give a tuple, such as ('chai', 'cha')")
