"""Which of the chosen moves and further names a taxonomy can take, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import TaxonomyError
from taxoexpan.naming import fold_name
from taxoexpan.screening import known_names
from taxoexpan.taxonomy import Additions, Shift, Taxonomy

_OTHER = "is not in the taxonomy; were the suggestions made for another one?"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What is added and moved, and in words what of it is not."""

    additions: Additions
    left_out: list[str]


def settle(taxonomy: Taxonomy, additions: Additions) -> Settlement:
    """Keep of the moves those that are safe, and of the further names those that are new.

    The moves come in the order in which they are to be considered. A child moves once; it must be
    under the parent still; and it must not be above the concept that it would go below.
    """
    labels = {concept.id: concept.label for concept in additions.concepts}
    moves, refused = _settle_moves(taxonomy, additions, labels)
    left_out = []
    for (child, left, joined), reason in refused:
        name, parent, new = (
            labels[id] if id in labels else taxonomy.concept(id).label
            for id in (child, left, joined)
        )
        left_out.append(f"{name!r} is not moved from {parent!r} below {new!r}: {reason}")
    synonyms, known = _settle_names(taxonomy, additions)
    settled = replace(additions, moves=tuple(moves), synonyms=tuple(synonyms))
    return Settlement(settled, [*left_out, *known])


def _settle_moves(
    taxonomy: Taxonomy, additions: Additions, labels: Mapping[str, str]
) -> tuple[list[Shift], list[tuple[Shift, str]]]:
    """The moves that are safe one after the other, and the others with a reason."""
    above: dict[str, list[str]] = {concept.id: [] for concept in additions.concepts}
    for parent, child in additions.relations:
        above.setdefault(child, []).append(parent)
    moves: dict[str, Shift] = {}
    refused = []
    for shift in additions.moves:
        child, left, joined = shift
        if child not in taxonomy:
            raise TaxonomyError(f"{child!r}, which is to move below {joined!r}, {_OTHER}")
        if left not in taxonomy.parents(child):
            refused.append((shift, "it is not under that"))
        elif child in moves:
            other = moves[child].joined
            kept = ", and keeps this parent; take that relation out by hand" * (other == joined)
            refused.append((shift, f"it moves below {labels.get(other, other)!r} already{kept}"))
        elif child in _ancestors(taxonomy, above, joined):
            refused.append((shift, "that would be below it"))
        else:
            moves[child] = shift
            parents = taxonomy.parents(child)
            above[child] = [joined if parent == left else parent for parent in parents]
    return list(moves.values()), refused


def _ancestors(taxonomy: Taxonomy, changed: Mapping[str, Sequence[str]], id: str) -> set[str]:
    """All that is above a concept, by the parents that changed and those that did not."""
    found: set[str] = set()
    waiting = [id]
    while waiting:
        here = waiting.pop()
        parents = changed[here] if here in changed else taxonomy.parents(here)
        waiting += [parent for parent in parents if parent not in found]
        found.update(parents)
    return found


def _settle_names(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[list[tuple[str, str]], list[str]]:
    """A name that anything has already is no further name, of whatever it is."""
    if not additions.synonyms:
        return [], []
    owners = {name: taxonomy.labels[index] for name, index in known_names(taxonomy).items()}
    for concept in additions.concepts:
        owners |= {fold_name(name): concept.label for name in (concept.label, *concept.synonyms)}
    synonyms, left_out = [], []
    for id, name in additions.synonyms:
        if id not in taxonomy:
            raise TaxonomyError(f"{id!r}, of which {name!r} is to be another name, {_OTHER}")
        if fold_name(name) in owners:
            owner = owners[fold_name(name)]
            left_out.append(f"{name!r} is not added as another name: it is one of {owner!r}")
        else:
            owners[fold_name(name)] = taxonomy.concept(id).label
            synonyms.append((id, name))
    return synonyms, left_out
