from __future__ import annotations

from dataclasses import replace

import pytest

from taxoexpan.errors import ModelError
from taxoexpan.placement.fitting.judged_taxonomy import apply_feedback
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import own as placed
from tests.support.decisions import Feedback, SuggestionKind

OAT_MILK = Concept("", "oat milk", ("oat drink",), "milk of oats")


@pytest.fixture
def foods() -> Taxonomy:
    labels = ("food", "milk", "tea", "cow milk", "organic oat milk", "old milk")
    concepts = [Concept(label, label, deprecated=label == "old milk") for label in labels]
    relations = [("food", "milk"), ("food", "tea"), ("milk", "cow milk")]
    return Taxonomy(concepts, [*relations, ("milk", "organic oat milk")])


def test_accepted_concepts_are_added_with_all_their_parents(foods: Taxonomy) -> None:
    accepted = [placed(OAT_MILK, "milk"), placed(OAT_MILK, "tea")]
    judged = apply_feedback(foods, Feedback(accepted))
    (id,) = judged.placed
    assert judged.taxonomy.parents(id) == ("milk", "tea")
    assert judged.taxonomy.concept(id).definition == "milk of oats"
    assert len(judged.taxonomy) == len(foods) + 1


def test_an_insert_moves_children(foods: Taxonomy) -> None:
    insert = placed(OAT_MILK, "milk", kind=SuggestionKind.INSERT, moves=("organic oat milk",))
    judged = apply_feedback(foods, Feedback([insert]))
    assert judged.taxonomy.parents("organic oat milk") == judged.placed


def test_a_merge_adds_names(foods: Taxonomy) -> None:
    merge = placed(OAT_MILK, "organic oat milk", kind=SuggestionKind.MERGE)
    judged = apply_feedback(foods, Feedback([merge]))
    assert judged.taxonomy.concept("organic oat milk").synonyms == ("oat milk", "oat drink")
    assert (judged.placed, judged.merged) == ((), 1)


def test_a_concept_that_the_taxonomy_has_by_now_keeps_its_parents(foods: Taxonomy) -> None:
    feedback = Feedback([placed("Cow-milk", "tea")], [placed("cow milk", "food")])
    judged = apply_feedback(foods, feedback)
    assert judged.taxonomy is foods
    assert judged.present == 1
    assert judged.rejected_pairs() == [("food", "cow milk")]


def test_a_decision_without_a_usable_parent_is_counted(foods: Taxonomy) -> None:
    accepted = [placed("oat milk", "milk"), placed("goat milk", "gone"), placed("x", "old milk")]
    merge = placed("y", "gone", kind=SuggestionKind.MERGE)
    judged = apply_feedback(foods, Feedback([*accepted, merge], [placed("oat milk", "gone")]))
    assert len(judged.placed) == 1
    assert judged.without_parent == 4
    assert not judged.rejections


def test_a_parent_that_is_a_new_concept_is_found_by_its_label(foods: Taxonomy) -> None:
    vanilla = placed("vanilla oat milk", "id of another model", label="Oat milk")
    judged = apply_feedback(foods, Feedback([vanilla, placed("oat milk", "milk")]))
    new = {judged.taxonomy.concept(id).label: id for id in judged.placed}
    assert judged.taxonomy.parents(new["vanilla oat milk"]) == (new["oat milk"],)
    assert judged.without_parent == 0


def test_children_of_a_concept_without_a_parent_are_left_out_too(foods: Taxonomy) -> None:
    chain = [placed("vanilla oat milk", "?", label="oat milk"), placed("oat milk", "gone")]
    judged = apply_feedback(foods, Feedback([*chain, placed("rice milk", "milk")]))
    assert [judged.taxonomy.concept(id).label for id in judged.placed] == ["rice milk"]
    assert judged.without_parent == 2


def test_an_id_that_is_taken_is_replaced(foods: Taxonomy) -> None:
    taken = [placed(Concept("tea", "oat milk"), "milk")]
    same = [placed(Concept("n1", label), "tea") for label in ("red tea", "blue tea")]
    judged = apply_feedback(foods, Feedback([*taken, *same]))
    assert judged.placed == ("new:oat-milk", "n1", "new:blue-tea")
    assert foods.labels == judged.taxonomy.labels[: len(foods)]


def test_an_accepted_parent_is_not_rejected_in_training(foods: Taxonomy) -> None:
    """A later decision may have changed an earlier one."""
    rejected = [replace(placed("oat milk", p), rank=2) for p in foods]
    feedback = Feedback([placed("oat milk", "milk")], rejected)
    judged = apply_feedback(foods, feedback)
    parents = {parent for parent, _ in judged.rejected_pairs()}
    assert parents == {"food", "tea", "cow milk", "organic oat milk"}


def test_rejections_of_an_unplaced_concept_are_kept(foods: Taxonomy) -> None:
    judged = apply_feedback(foods, Feedback(rejected=[placed("soup", "tea")]))
    assert judged.rejections.parents == {"soup": ("tea",)}
    assert judged.rejected_pairs() == []


def test_a_merged_concept_does_not_pass_its_rejections_on(foods: Taxonomy) -> None:
    merge = placed(OAT_MILK, "organic oat milk", kind=SuggestionKind.MERGE)
    judged = apply_feedback(foods, Feedback([merge], [placed("oat milk", "tea")]))
    assert judged.rejected_pairs() == []


def test_decisions_about_another_taxonomy_are_refused(foods: Taxonomy) -> None:
    feedback = Feedback([placed("piston", "engine")], [placed("valve", "engine")])
    with pytest.raises(ModelError, match="no parent of the 2 decisions is in this taxonomy"):
        apply_feedback(foods, feedback)
