from __future__ import annotations

import numpy as np
import pytest

from reproduction.measurements.planted_errors import average_precision, plant, precision_at
from reproduction.measurements.recovery import recovery_of
from reproduction.measurements.review import Queue, answer
from reproduction.measurements.small_taxonomies import small_subtrees
from taxoexpan import Concept, Taxonomy
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.placement.joint.prior_learning import remove_subtrees
from taxoexpan.training.holdout import Holdout
from tests.support.builders import random_taxonomy


def test_subtrees_are_complete_and_have_no_common_concept() -> None:
    whole = random_taxonomy(5, 200, most_parents=1)
    subtrees = small_subtrees(whole, 4, (3, 12), seed=1)
    for subtree in subtrees:
        (root,) = subtree.roots
        assert set(subtree) == {root, *whole.descendants(root)}
    assert sum(map(len, subtrees)) == len(set().union(*subtrees))


@pytest.mark.parametrize("kind", ["random", "cousin"])
def test_planted_errors_are_wrong_and_nothing_else_changes(kind: str) -> None:
    taxonomy = random_taxonomy(7, 60, most_parents=2)
    planted = plant(taxonomy, 0.2, kind, 0)
    assert planted.wrong
    for parent, child in planted.wrong:
        assert planted.taxonomy.parents(child) == (parent,)
        assert parent not in taxonomy.ancestors(child)
    assert set(planted.taxonomy.relations) - set(taxonomy.relations) == planted.wrong


def test_errors_on_top_have_the_best_precision() -> None:
    doubt, wrong = np.array([3.0, 2.0, 1.0]), np.array([True, True, False])
    assert (average_precision(doubt, wrong), precision_at(2, doubt, wrong)) == (1.0, 1.0)
    assert precision_at(3, doubt, wrong) == pytest.approx(2 / 3)


def test_the_true_placement_recovers_everything() -> None:
    removal = remove_subtrees(random_taxonomy(3, 60), 4, 2, 9, seed=0)
    found = recovery_of(removal.taxonomy, removal.batches, removal.batches)
    assert (found.fractions, found.ancestor_f1) == ((1.0, 1.0, 1.0), 1.0)


def test_the_curator_accepts_true_parents_and_rejects_the_proposals_above_them() -> None:
    taxonomy = Taxonomy([Concept(id, id) for id in "abc"], [("a", "b"), ("a", "c")])
    query = Concept("n", "new")
    proposals = [Suggestion(query, rank, taxonomy.concept(p)) for rank, p in ((1, "a"), (2, "c"))]
    growth = Holdout(taxonomy, (query,), (np.array([taxonomy.index("c")]),))
    feedback = answer(Queue(growth, [proposals]))
    assert [each.parent.id for each in feedback.accepted] == ["c"]
    assert [each.parent.id for each in feedback.rejected] == ["a"]
