"""A taxonomy with the placements that curators have accepted and rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from taxoexpan.decisions.additions import safe_additions
from taxoexpan.decisions.decision import Decision, Merge, Place
from taxoexpan.decisions.feedback import NO_REJECTIONS, Feedback, Rejections
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.errors import ModelError
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import PROVISIONAL
from taxoexpan.taxonomy.ids import numbered, slug
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class JudgedTaxonomy:
    """A taxonomy that was expanded with accepted placements, and counts of all decisions.

    Examples:
        >>> from taxoexpan import Feedback, TaxoExpan, read_taxonomy
        >>> instruments = read_taxonomy("examples/instruments.ttl")
        >>> model = TaxoExpan("fast").fit(instruments)
        >>> accepted = model.suggest("talking drum")[0][:1]
        >>> judged = model.refit(instruments, Feedback(accepted=accepted))
        >>> len(judged.taxonomy) - len(instruments), len(judged.placed)
        (1, 1)
    """

    taxonomy: Taxonomy
    placed: tuple[str, ...] = ()
    rejections: Rejections = NO_REJECTIONS
    merged: int = 0
    present: int = 0
    without_parent: int = 0

    def rejected_pairs(self) -> list[tuple[str, str]]:
        """Return the rejected (parent id, concept id) pairs that are not true relations."""
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
    """Add the accepted placements of new concepts to a taxonomy, and collect rejected ones."""
    known = known_names(taxonomy)
    usable = {c.id for c in taxonomy.concepts if not c.deprecated}
    new = [p for p in feedback.accepted if normalize_name(p.query.label) not in known]
    present = {normalize_name(p.query.label) for p in feedback.accepted} & known.keys()
    merges = [p for p in new if p.is_merge]
    placements = _with_new_ids(taxonomy, [p for p in new if not p.is_merge])
    reachable = _reachable(placements, usable)
    merged = [p for p in merges if p.parent.id in usable]
    lost = len(placements) - len(reachable) + len(merges) - len(merged)
    wrong = [p for p in feedback.rejected if p.parent.id in usable]
    lost += len(feedback.rejected) - len(wrong)
    if feedback and not (reachable or merged or wrong or present):
        count = pluralize(len(feedback.accepted) + len(feedback.rejected), "decision")
        raise ModelError(
            f"no parent of the {count} is in this taxonomy",
            fix="the decisions are about another one",
        )
    decisions: list[Decision] = [Place(p.query, [p], is_moving=True) for p in reachable]
    decisions += [Merge(p.query, [p]) for p in merged]
    additions, _, _ = safe_additions(taxonomy, decisions)
    return JudgedTaxonomy(
        taxonomy.expanded(additions) if additions.concepts or additions.synonyms else taxonomy,
        tuple(concept.id for concept in additions.concepts),
        Rejections.of(wrong),
        len({normalize_name(p.query.label) for p in merged}),
        len(present),
        lost,
    )


def _with_new_ids(taxonomy: Taxonomy, placements: Sequence[Suggestion]) -> list[Suggestion]:
    """Give each new concept an unused id, and find parents that are new concepts.

    Such an id is provisional, because the taxonomy's file may give it to another concept.
    """
    named: dict[str, Concept] = {}
    taken = {"", *taxonomy, *taxonomy.reserved}
    for placement in placements:
        concept = placement.query
        name = normalize_name(placement.query.label)
        if name not in named:
            candidates = chain([concept.id], numbered(PROVISIONAL + slug(concept.label)))
            id = next(id for id in candidates if id not in taken)
            named[name] = replace(concept, id=id)
            taken.add(id)

    def parent_of(placement: Suggestion) -> str:
        new = named.get(normalize_name(placement.parent.label), placement.parent)
        return placement.parent.id if placement.parent.id in taxonomy else new.id

    return [
        replace(
            p,
            query=named[normalize_name(p.query.label)],
            parent=replace(p.parent, id=parent_of(p)),
        )
        for p in placements
    ]


def _reachable(placements: Sequence[Suggestion], usable: set[str]) -> list[Suggestion]:
    """Remove the placements whose parent neither exists nor is placed."""
    placed: set[str] = set()
    while True:
        kept = [p for p in placements if p.parent.id in usable or p.parent.id in placed]
        ids = {p.query.id for p in kept}
        if ids == placed:
            return kept
        placed = ids
