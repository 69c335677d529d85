from __future__ import annotations

import numpy as np
import pytest
from simulated_review import Queue, answer, count_actions, ordered, parse_recipe

from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.continuation import DEFAULT_RECIPE
from taxoexpan.training.holdout import Holdout

TAXONOMY = Taxonomy([Concept(id, id) for id in "abcd"], [("a", each) for each in "bcd"])
MERGE = SuggestionKind.MERGE


def queue(*rows: tuple[str, str, float]) -> Queue:
    """Return a queue: the true parent, the proposals, the first confidence; "+" is a merge."""
    concepts, parents, proposals = [], [], []
    for number, (true, proposed, confidence) in enumerate(rows):
        query = Concept(f"n{number}", f"new {number}")
        concepts.append(query)
        parents.append(np.array([TAXONOMY.index(true)]))
        kinds = [MERGE if each.isupper() else SuggestionKind.ATTACH for each in proposed]
        proposals.append(
            [
                Suggestion(query, rank, TAXONOMY.concept(p.lower()), (), 0.5, confidence, kind)
                for rank, (p, kind) in enumerate(zip(proposed, kinds, strict=True), start=1)
            ]
        )
    return Queue(Holdout(TAXONOMY, tuple(concepts), tuple(parents)), proposals)


def test_the_curator_accepts_true_parents_and_rejects_the_proposals_above_them() -> None:
    feedback = answer(queue(("a", "ab", 0.9), ("c", "abcd", 0.5), ("d", "ab", 0.1)))
    accepted = [(each.query.id, each.parent.id) for each in feedback.accepted]
    assert accepted == [("n0", "a"), ("n1", "c"), ("n2", "d")]
    rejected = [(each.query.id, each.parent.id) for each in feedback.rejected]
    assert rejected == [("n1", "a"), ("n1", "b"), ("n2", "a"), ("n2", "b")]


def test_a_merge_with_the_true_parent_is_wrong() -> None:
    feedback = answer(queue(("a", "Ab", 0.9)))
    assert [(each.parent.id, each.kind) for each in feedback.rejected] == [
        ("a", MERGE),
        ("b", SuggestionKind.ATTACH),
    ]


def test_a_group_is_one_action_if_all_of_it_is_right() -> None:
    right = [("a", "ab", 0.9)] * 3
    mixed = [("b", "bc", 0.8), ("b", "bc", 0.8), ("c", "bc", 0.7), ("d", "bc", 0.7)]
    actions = count_actions(queue(*right, *mixed))
    assert actions["concepts"] == 7
    assert actions["groups"] == 2
    assert actions["one_by_one"] == pytest.approx((3 + 1 + 1 + 1 + 2) / 7)
    assert actions["grouped"] == pytest.approx((1 + 1 + 1 + 1 + 2) / 7)
    assert actions["wrong_first"] == pytest.approx((1 + 1 + 1 + 2) / 7)


def test_orders() -> None:
    given = queue(("a", "a", 0.1), ("a", "b", 0.9), ("a", "c", 0.5), ("a", "b", 0.2))

    def ids(order: str) -> list[str]:
        return [concept.id for concept in ordered(given, order, 0).growth.concepts]

    assert ids("listed") == ["n0", "n1", "n2", "n3"]
    assert ids("confidence") == ["n1", "n2", "n3", "n0"]
    assert ids("parent") == ["n1", "n3", "n0", "n2"]
    assert sorted(ids("random")) == ids("listed")


def test_recipes_are_parsed() -> None:
    name, recipe = parse_recipe("last:epochs=7,keep_best=0,replay=2.5")
    assert (name, recipe.epochs, recipe.keep_best, recipe.replay) == ("last", 7, False, 2.5)
    assert parse_recipe("default") == ("default", DEFAULT_RECIPE)
    with pytest.raises(SystemExit, match="a recipe has no 'epoch'"):
        parse_recipe("x:epoch=1")
