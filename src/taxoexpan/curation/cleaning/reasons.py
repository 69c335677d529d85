"""Why a fold's model would rather have concepts elsewhere than where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taxoexpan.curation.cleaning.judgements import Judgements
from taxoexpan.explain import Evidence
from taxoexpan.explain.neighbourhood import Lookup
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.ranking import Ranking
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a concept may stand better elsewhere than under a parent: the evidence as JSON has it.

    Both are places in the whole taxonomy.
    """

    concept: int
    parent: int
    evidence: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Fold:
    """What the model of a fold thinks of its relations, and why of the most doubtful ones."""

    judgements: Judgements
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def together(cls, folds: Sequence[Fold]) -> Fold:
        """Several folds as one."""
        judgements = Judgements.together([fold.judgements for fold in folds])
        return cls(judgements, tuple(reason for fold in folds for reason in fold.reasons))


def reasons_for(
    model: TaxoExpan, taxonomy: Taxonomy, kept: Indices, judgements: Judgements, most: int
) -> tuple[Reason, ...]:
    """Why the model doubts the `most` doubtful relations, from the most doubtful on.

    `kept` are the places in the whole taxonomy of the concepts that the model knows.
    """
    rows = judgements.order[:most]
    if not len(rows):
        return ()
    places = np.stack([judgements.others[rows], judgements.parents[rows]], axis=1)
    shares = np.stack([judgements.other_shares[rows], judgements.shares[rows]], axis=1)
    anchor_of = np.full(len(taxonomy), -1)
    anchor_of[kept] = np.arange(len(kept))
    scores = np.exp(shares).astype(np.float32)
    asked = judgements.concepts[rows].tolist()
    concepts = [taxonomy.concept_at(concept) for concept in asked]
    found = model.contrast(concepts, Ranking(anchor_of[places], scores, scores))
    whole = Lookup(taxonomy)
    return tuple(
        Reason(concept, parent, _as_it_is(evidence, whole, better, parent).as_dict())
        for concept, (better, parent), evidence in zip(asked, places.tolist(), found, strict=True)
    )


def _as_it_is(evidence: Evidence, whole: Lookup, better: int, parent: int) -> Evidence:
    """The evidence with what the whole taxonomy says of both places.

    The fold's own has no masked leaves, and inner concepts that are masked are roots there, so that
    its paths may be too short. The concept itself is not counted among its parent's children.
    """
    children = whole.taxonomy.children_of.degrees
    first, second = evidence.support
    first = replace(first, path=whole.path(better), child_count=int(children[better]))
    second = replace(second, path=whole.path(parent), child_count=int(children[parent]) - 1)
    contest = evidence.contest
    if contest is not None:
        contest = replace(contest, standing=whole.standing(parent, seen_from=better))
    return replace(evidence, support=(first, second), contest=contest)
