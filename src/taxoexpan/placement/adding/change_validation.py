"""Validating the moves and synonyms of additions against the taxonomy that they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name

_FOREIGN = (
    "is not in the taxonomy; were the suggestions made for another one? If it is a new concept "
    "that is no longer accepted, remove this row, or decide again"
)


@dataclass(frozen=True, slots=True)
class ValidatedAdditions:
    """Additions without unsafe changes, and one sentence about each change that was rejected."""

    additions: Additions
    rejected: list[str]


def validate_additions(taxonomy: Taxonomy, additions: Additions) -> ValidatedAdditions:
    """Keep the moves that are safe and the synonyms that are new.

    Synonyms of concepts that are new themselves become a part of these. Moves are considered in
    their order. A child moves once, it must still be below the old parent, and it must not be above
    the concept that it would move below.
    """
    labels = {concept.id: concept.label for concept in additions.concepts}
    moves, refused = _safe_moves(taxonomy, additions, labels)
    rejected = []
    for move, reason in refused:
        child, old, new = (
            labels[id] if id in labels else taxonomy.concept(id).label for id in move
        )
        rejected.append(f"{child!r} is not moved from {old!r} below {new!r}: {reason}")
    synonyms, known = _new_synonyms(taxonomy, additions)
    gained = replace(additions, synonyms=synonyms).names
    concepts = tuple(_with_synonyms(each, gained.get(each.id, ())) for each in additions.concepts)
    existing = tuple((id, name) for id, name in synonyms if id not in labels)
    safe = replace(additions, concepts=concepts, moves=tuple(moves), synonyms=existing)
    return ValidatedAdditions(safe, [*rejected, *known])


def _with_synonyms(concept: Concept, names: Sequence[str]) -> Concept:
    """Return a new concept with the synonyms that it gets by merges."""
    return replace(concept, synonyms=(*concept.synonyms, *names)) if names else concept


def _safe_moves(
    taxonomy: Taxonomy, additions: Additions, labels: Mapping[str, str]
) -> tuple[list[Move], list[tuple[Move, str]]]:
    """Return the moves that are safe one after the other, and the others with a reason."""
    above: dict[str, list[str]] = {concept.id: [] for concept in additions.concepts}
    for parent, child in additions.relations:
        above.setdefault(child, []).append(parent)
    moves: dict[str, Move] = {}
    refused = []
    for move in additions.moves:
        child, old, new = move
        if child in labels:
            refused.append((move, "it is new, too; move it after it has been added"))
        elif child not in taxonomy:
            raise TaxonomyError(f"{child!r}, which would move below {new!r}, {_FOREIGN}")
        elif old not in taxonomy.parents(child):
            refused.append((move, "it is not below that parent"))
        elif child in moves:
            other = moves[child].new_parent
            kept = ", and keeps this parent; remove that relation by hand" * (other == new)
            refused.append((move, f"it already moves below {labels.get(other, other)!r}{kept}"))
        elif child in _ancestors(taxonomy, above, new):
            refused.append((move, "the new parent would be below it"))
        else:
            moves[child] = move
            parents = taxonomy.parents(child)
            above[child] = [new if parent == old else parent for parent in parents]
    return list(moves.values()), refused


def _ancestors(taxonomy: Taxonomy, changed: Mapping[str, Sequence[str]], id: str) -> set[str]:
    """Return all ancestors of a concept, where some concepts have changed parents."""
    ancestors: set[str] = set()
    waiting = [id]
    while waiting:
        current = waiting.pop()
        parents = changed[current] if current in changed else taxonomy.parents(current)
        waiting += [parent for parent in parents if parent not in ancestors]
        ancestors.update(parents)
    return ancestors


def _new_synonyms(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the synonyms that no concept has yet as a name, and a sentence about each other."""
    if not additions.synonyms:
        return [], []
    owners = {name: taxonomy.labels[index] for name, index in known_names(taxonomy).items()}
    labels = {concept.id: concept.label for concept in additions.concepts}
    for concept in additions.concepts:
        for name in (concept.label, *concept.synonyms):
            owners[normalize_name(name)] = concept.label
    synonyms, rejected = [], []
    for id, name in additions.synonyms:
        if id not in taxonomy and id not in labels:
            raise TaxonomyError(f"{id!r}, which would get the synonym {name!r}, {_FOREIGN}")
        key = normalize_name(name)
        if key in owners:
            message = f"{name!r} is not added as a synonym: it is already a name of {owners[key]!r}"
            rejected.append(message)
        else:
            owners[key] = labels[id] if id in labels else taxonomy.concept(id).label
            synonyms.append((id, name))
    return synonyms, rejected
