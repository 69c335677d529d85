"""A taxonomy with the placements that curators have accepted, and the rejected ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from taxoexpan.errors import ModelError
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.adding.change_validation import validate_additions
from taxoexpan.placement.suggesting.feedback import Feedback, JudgedPlacement
from taxoexpan.placement.suggesting.rejections import NO_REJECTIONS, Rejections
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.id_assignment import PROVISIONAL
from taxoexpan.taxonomy.ids import numbered, slug
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class JudgedTaxonomy:
    """A taxonomy that was expanded with accepted placements, and what became of all decisions.

    Args:
        taxonomy: the expanded taxonomy.
        placed: the ids of the accepted concepts that were added.
        rejections: all rejected placements.
        merged: the number of concepts that became synonyms.
        present: the number of accepted concepts that the taxonomy already had.
        without_parent: the number of decisions whose parent is not in the taxonomy, or deprecated.
    """

    taxonomy: Taxonomy
    placed: tuple[str, ...] = ()
    rejections: Rejections = NO_REJECTIONS
    merged: int = 0
    present: int = 0
    without_parent: int = 0

    def rejected_pairs(self) -> list[tuple[str, str]]:
        """Return the rejected (parent id, concept id) whose concept has other, true parents."""
        known = known_names(self.taxonomy)
        pairs = []
        for name, parents in self.rejections.parents.items():
            index = known.get(name)
            if index is None or normalize_name(self.taxonomy.labels[index]) != name:
                continue  # not placed, or a synonym
            id = self.taxonomy.ids[index]
            true = self.taxonomy.parents(id)
            pairs += [(p, id) for p in parents if p in self.taxonomy and p not in true]
        return pairs


def apply_feedback(taxonomy: Taxonomy, feedback: Feedback) -> JudgedTaxonomy:
    """Expand a taxonomy with accepted placements, and collect the rejected ones.

    The taxonomy overrides decisions: a concept that it has by now keeps its parents.
    """
    known, usable = known_names(taxonomy), {c.id for c in taxonomy.concepts if not c.deprecated}
    new, present = _split_present(feedback.accepted, known)
    merges = [p for p in new if p.kind == SuggestionKind.MERGE]
    placements = _with_new_ids(taxonomy, [p for p in new if p.kind != SuggestionKind.MERGE])
    reachable = _reachable(placements, usable)
    merged = [p for p in merges if p.parent_id in usable]
    lost = len(placements) - len(reachable) + len(merges) - len(merged)
    wrong = [p for p in feedback.rejected if p.parent_id in usable]
    lost += len(feedback.rejected) - len(wrong)
    if feedback and not (reachable or merged or wrong or present):
        count = pluralize(len(feedback.accepted) + len(feedback.rejected), "decision")
        raise ModelError(
            f"no parent of the {count} is in this taxonomy; the decisions are about another one"
        )
    additions = validate_additions(taxonomy, _additions(reachable, merged)).additions
    return JudgedTaxonomy(
        taxonomy.expanded(additions) if additions.concepts or additions.synonyms else taxonomy,
        tuple(concept.id for concept in additions.concepts),
        Rejections.of(wrong),
        len({normalize_name(p.concept.label) for p in merged}),
        len(present),
        lost,
    )


def _split_present(
    accepted: Iterable[JudgedPlacement], known: dict[str, int]
) -> tuple[list[JudgedPlacement], set[str]]:
    """Return the placements of new concepts, and the names of those that the taxonomy has."""
    new: list[JudgedPlacement] = []
    present: set[str] = set()
    for placement in accepted:
        name = normalize_name(placement.concept.label)
        if name in known:
            present.add(name)
        else:
            new.append(placement)
    return new, present


def _with_new_ids(
    taxonomy: Taxonomy, placements: Sequence[JudgedPlacement]
) -> list[JudgedPlacement]:
    """Give each new concept an unused id, and find parents that are new concepts themselves.

    An id is provisional unless the concept came with one: the taxonomy's file may give the next
    number to another concept, and a parent must not be mistaken for it.
    """
    named: dict[str, Concept] = {}
    taken = {"", *taxonomy, *taxonomy.reserved}
    for placement in placements:
        concept, name = placement.concept, normalize_name(placement.concept.label)
        if name not in named:
            candidates = chain([concept.id], numbered(PROVISIONAL + slug(concept.label)))
            id = next(id for id in candidates if id not in taken)
            named[name] = replace(concept, id=id)
            taken.add(id)

    def parent_of(placement: JudgedPlacement) -> str:
        new = named.get(normalize_name(placement.parent_label))
        known = placement.parent_id in taxonomy or new is None
        return placement.parent_id if known or new is None else new.id

    return [
        replace(p, concept=named[normalize_name(p.concept.label)], parent_id=parent_of(p))
        for p in placements
    ]


def _reachable(placements: Sequence[JudgedPlacement], usable: set[str]) -> list[JudgedPlacement]:
    """Remove the placements whose parent neither exists nor is placed itself."""
    placed: set[str] = set()
    while True:
        kept = [p for p in placements if p.parent_id in usable or p.parent_id in placed]
        ids = {p.concept.id for p in kept}
        if ids == placed:
            return kept
        placed = ids


def _additions(placed: Sequence[JudgedPlacement], merged: Sequence[JudgedPlacement]) -> Additions:
    """Return the accepted placements as additions to the taxonomy."""
    concepts = {p.concept.id: p.concept for p in placed}
    relations = dict.fromkeys((p.parent_id, p.concept.id) for p in placed)
    moves = (Move(id, p.parent_id, p.concept.id) for p in placed for id in p.moves)
    names = ((p.parent_id, n) for p in merged for n in (p.concept.label, *p.concept.synonyms))
    return Additions(
        tuple(concepts.values()),
        tuple(relations),
        moves=tuple(dict.fromkeys(moves)),
        synonyms=tuple(dict.fromkeys(names)),
    )
