"""A filter for new concepts that the taxonomy already has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True)
class FilteredConcepts:
    """New concepts, known concepts (each with the existing one), and repeated concepts."""

    new: tuple[Concept, ...]
    present: tuple[tuple[Concept, Concept], ...]
    repeated: tuple[Concept, ...]


def filter_known_names(
    taxonomy: Taxonomy, concepts: Sequence[Concept], ids: IdPolicy = DEFAULT_IDS
) -> FilteredConcepts:
    """Remove concepts with a known name, and give every new concept an id.

    Case, spaces and hyphens do not matter. Equal names are one concept, unless each has an id.
    """
    known = known_names(taxonomy)
    new: list[Concept] = []
    present: list[tuple[Concept, Concept]] = []
    repeated: list[Concept] = []
    seen: set[tuple[str, str]] = set()
    without_id: set[str] = set()
    for concept in concepts:
        name = normalize_name(concept.label)
        if name in known:
            present.append((concept, taxonomy.concept_at(known[name])))
        elif name in without_id or (name, concept.id) in seen:
            repeated.append(concept)
        else:
            new.append(concept)
            seen |= {(name, concept.id), (name, "")}
            if not concept.id:
                without_id.add(name)
    _refuse_taken_ids(taxonomy, new)
    return FilteredConcepts(tuple(with_ids(taxonomy, new, ids)), tuple(present), tuple(repeated))


def known_names(taxonomy: Taxonomy) -> dict[str, int]:
    """Return the concept of each normalized label, synonym and foreign name."""
    known: dict[str, int] = {}
    for others in (taxonomy.foreign_names, taxonomy.synonyms):
        known.update((normalize_name(name), i) for i, names in others.items() for name in names)
    known.update((normalize_name(label), index) for index, label in enumerate(taxonomy.labels))
    known.pop("", None)
    return known


def _refuse_taken_ids(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> None:
    given: dict[str, str] = {}
    for concept in concepts:
        if not concept.id:
            continue
        known = concept.id in taxonomy
        other = taxonomy.concept(concept.id).label if known else given.get(concept.id)
        if other is not None:
            raise TaxonomyError(
                f"the id {concept.id!r} of the new concept {concept.label!r} belongs to {other!r}",
                fix="give it another id, or none",
            )
        if concept.id in taxonomy.reserved:
            raise TaxonomyError(
                f"the id {concept.id!r} of the new concept {concept.label!r} is used "
                "for something else in the taxonomy's file",
                fix="give it another id, or none",
            )
        given[concept.id] = concept.label
