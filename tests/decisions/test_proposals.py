"""What a model proposes for a new concept: parents, further parents, inserts and merges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import Concept, Suggestion, Taxonomy
from taxoexpan.network.concept_vectors import MAX_BLOCK
from tests.support.builders import random_taxonomy, tree
from tests.support.decisions import abstaining_model, proposed
from tests.support.strategies import quickly

TREE = tree("food > drink > milk", "food > nut > almond")
ALMOND_MILK = Concept("q", "almond milk")


def kinds(suggestions: list[Suggestion]) -> list[tuple[str, str]]:
    assert [each.rank for each in suggestions] == list(range(1, len(suggestions) + 1))
    return [(each.parent.id, each.kind) for each in suggestions]


# ---- further parents ------------------------------------------------------------------------


def test_a_further_parent_is_more_likely_right_than_wrong() -> None:
    parents = [("milk", 0.9), ("almond", 0.6), ("nut", 0.5)]
    assert kinds(proposed(TREE, ALMOND_MILK, parents)) == [
        ("milk", "attach"),
        ("almond", "also"),
        ("nut", "attach"),
    ]


def test_without_a_confidence_there_are_no_further_parents() -> None:
    parents = [("milk", None), ("nut", None)]
    assert kinds(proposed(TREE, ALMOND_MILK, parents)) == [("milk", "attach"), ("nut", "attach")]


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from((0.2, 0.5, 0.6, 0.9)), min_size=2, max_size=8),
)
@quickly
def test_further_parents_are_likely_and_not_above_or_below_another_one(
    seed: int, confidences: list[float]
) -> None:
    taxonomy = random_taxonomy(seed, 12)
    chosen = np.random.default_rng(seed).permutation(12)[: len(confidences)]
    parents = [
        (taxonomy.ids[index], confidence)
        for index, confidence in zip(chosen, confidences, strict=True)
    ]
    suggestions = proposed(taxonomy, Concept("q", "something else"), parents)
    kept = [parents[0][0]]
    for id, confidence in parents[1:]:
        line = {id, *taxonomy.ancestors(id), *taxonomy.descendants(id)}
        if confidence > 0.5 and line.isdisjoint(kept):
            kept.append(id)
    further = [each.parent.id for each in suggestions if each.kind == "also"]
    assert further == kept[1:]


# ---- inserts --------------------------------------------------------------------------------


def test_children_named_after_the_new_concept_might_move_below_it() -> None:
    labels = {"f": "food", "o": "oat milk", "g": "Goat-milks", "b": "buttermilk", "t": "tea"}
    concepts = [Concept(id, label) for id, label in labels.items()]
    foods = Taxonomy(concepts, [("f", child) for child in labels if child != "f"])
    parents = [("f", 0.9), ("t", 0.1)]
    insert, other = proposed(foods, Concept("q", "milk"), parents)
    assert (insert.parent.id, insert.kind, insert.moves) == ("f", "insert", ("o", "g"))
    assert (other.kind, other.moves) == ("attach", ())
    named, _ = proposed(foods, Concept("q", "dairy drink", ("milk",)), parents)
    assert named.moves == ("o", "g")
    coffee, _ = proposed(foods, Concept("q", "coffee"), parents)
    assert (coffee.kind, coffee.moves) == ("attach", ())


@pytest.mark.parametrize(("parent", "moves"), [("percussion", ("snare drum",)), ("drums", ())])
def test_the_plural_of_the_parent_moves_nothing(parent: str, moves: tuple[str, ...]) -> None:
    drums = tree(f"{parent} > snare drum", f"{parent} > cymbal")
    first = proposed(drums, Concept("q", "Drum"), [(parent, 0.9)])[-1]
    assert first.moves == moves


# ---- merges ---------------------------------------------------------------------------------


def test_a_likely_merge_is_ranked_by_its_confidence() -> None:
    parents = [("milk", 0.9), ("nut", 0.4)]
    merged = proposed(TREE, ALMOND_MILK, parents, same=("almond", 0.73))
    assert kinds(merged) == [("milk", "attach"), ("almond", "merge"), ("nut", "attach")]
    assert merged[1].confidence == pytest.approx(0.73)
    assert merged[1].path == ("food", "nut", "almond")
    unlikely = proposed(TREE, ALMOND_MILK, parents, same=("almond", 0.49))
    assert kinds(unlikely) == [("milk", "attach"), ("nut", "attach")]


def test_a_likely_merge_comes_first_if_no_confidence_is_known() -> None:
    merged = proposed(TREE, ALMOND_MILK, [("milk", None)], same=("almond", 0.6))
    assert kinds(merged) == [("almond", "merge"), ("milk", "attach")]


def test_nothing_is_merged_with_a_deprecated_concept() -> None:
    foods = Taxonomy(
        [Concept("food", "food"), Concept("old", "whey", deprecated=True)], [("food", "old")]
    )
    merged = proposed(foods, Concept("q", "milk"), [("food", 0.3)], same=("old", 0.99))
    assert kinds(merged) == [("food", "attach")]


def test_a_similar_name_comes_before_everything_else() -> None:
    almonds = Concept("q", "almonds")
    similar, *others = proposed(TREE, almonds, [("nut", 0.9), ("food", 0.1)])
    assert (similar.parent.id, similar.kind, similar.confidence) == ("almond", "similar", None)
    assert "plural" in similar.why
    assert [(each.parent.id, each.rank) for each in others] == [("nut", 2), ("food", 3)]
    # The name of the same concept is proposed once, and a merge that is first says it already.
    later = proposed(TREE, almonds, [("nut", 0.9)], same=("almond", 0.6))
    assert kinds(later) == [("almond", "similar"), ("nut", "attach")]
    first = proposed(TREE, almonds, [("nut", 0.3)], same=("almond", 0.6))
    assert kinds(first) == [("almond", "merge"), ("nut", "attach")]


# ---- suitable parents -----------------------------------------------------------------------


def test_whether_a_concept_has_a_suitable_parent_does_not_depend_on_the_others(
    model_directory: Path,
) -> None:
    """Long lists are ranked in blocks."""
    model = abstaining_model(model_directory, least_similarity=0.3)

    def places(labels: list[str]) -> list[str]:
        return [each.place for each in model.suggest(labels, top_k=1).flat if each.rank == 1]

    alone = {word: places([f"{word} 0"]) for word in ("oat milk", "zinc")}
    assert alone == {"oat milk": [""], "zinc": ["none"]}
    words = np.random.default_rng(0).choice(list(alone), 2 * MAX_BLOCK).tolist()
    together = places([f"{word} {number}" for number, word in enumerate(words)])
    assert together == [alone[word][0] for word in words]
