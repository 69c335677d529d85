from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import DamagedModelError
from taxoexpan.network.concept_vectors import MAX_BLOCK
from taxoexpan.placement.adding.acceptance import Acceptance, merges, select_additions
from taxoexpan.placement.learned.abstention import (
    ABSTENTION_FEATURES,
    AbstentionModel,
    abstention_features,
)
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.ranking import Ranking
from taxoexpan.placement.suggesting.feedback import Rejections
from taxoexpan.placement.suggesting.proposals import (
    Placer,
    related_concepts,
    with_further_parents,
    with_inserts,
    with_merge,
)
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

TREE = Taxonomy(
    [Concept(id, id) for id in ("food", "drink", "milk", "nut", "almond")],
    [("food", "drink"), ("drink", "milk"), ("food", "nut"), ("nut", "almond")],
)


def ranked(*parents: tuple[str, float | None]) -> list[Suggestion]:
    """Suggestions for almond milk with these parents and confidences."""
    query = Concept("q", "almond milk")
    return [
        Suggestion(query, rank, TREE.concept(id), TREE.path(id), 0.5 / rank, confidence)
        for rank, (id, confidence) in enumerate(parents, start=1)
    ]


def marked_parents(parents: list[Suggestion]) -> list[Suggestion]:
    anchors = np.array([[TREE.index(each.parent.id) for each in parents]])
    return with_further_parents(parents, related_concepts(TREE, anchors)[0])


def kinds(suggestions: list[Suggestion]) -> list[tuple[str, str]]:
    return [(s.parent.id, s.kind) for s in suggestions]


@pytest.mark.parametrize(("parent", "moved"), [("percussion", True), ("drums", False)])
def test_the_plural_of_the_parent_moves_nothing(parent: str, moved: bool) -> None:
    concepts = [Concept(name, name) for name in (parent, "snare drum", "cymbal")]
    taxonomy = Taxonomy(concepts, [(parent, "snare drum"), (parent, "cymbal")])
    told = Suggestion(Concept("q", "Drum"), 1, concepts[0], (parent,), 0.9)
    (first,) = with_inserts(taxonomy, [told])
    assert first.moves == (("snare drum",) if moved else ())
    assert first.kind == (SuggestionKind.INSERT if moved else SuggestionKind.ATTACH)


def test_a_further_parent_is_more_likely_right_than_wrong() -> None:
    marked = marked_parents(ranked(("milk", 0.9), ("almond", 0.6), ("nut", 0.5)))
    assert kinds(marked) == [
        ("milk", SuggestionKind.ATTACH),
        ("almond", SuggestionKind.ALSO),
        ("nut", SuggestionKind.ATTACH),
    ]


@pytest.mark.parametrize("other", ["drink", "food"])
def test_an_ancestor_of_a_parent_is_no_further_parent(other: str) -> None:
    marked = marked_parents(ranked(("milk", 0.9), (other, 0.8)))
    assert kinds(marked)[1] == (other, SuggestionKind.ATTACH)
    turned = marked_parents(ranked((other, 0.9), ("milk", 0.8)))
    assert kinds(turned)[1] == ("milk", SuggestionKind.ATTACH)


def test_without_confidence_there_are_no_further_parents() -> None:
    assert kinds(marked_parents(ranked(("milk", None), ("nut", None)))) == [
        ("milk", SuggestionKind.ATTACH),
        ("nut", SuggestionKind.ATTACH),
    ]


def test_a_likely_merge_is_ranked_by_its_confidence() -> None:
    parents = ranked(("milk", 0.9), ("nut", 0.4))
    odds = 1.0  # a probability of .73
    merged = with_merge(TREE, parents, TREE.index("almond"), odds)
    assert kinds(merged) == [
        ("milk", SuggestionKind.ATTACH),
        ("almond", SuggestionKind.MERGE),
        ("nut", SuggestionKind.ATTACH),
    ]
    assert [s.rank for s in merged] == [1, 2, 3]
    assert merged[1].confidence == pytest.approx(0.731, abs=1e-3)
    assert with_merge(TREE, parents, 0, -0.1) == parents


def test_a_likely_merge_comes_first_where_no_confidence_was_learned() -> None:
    parents = [replace(s, score=0.99, confidence=None) for s in ranked(("milk", 0.9))]
    merged = with_merge(TREE, parents, TREE.index("almond"), 0.5)
    assert [(s.kind, s.rank) for s in merged] == [
        (SuggestionKind.MERGE, 1),
        (SuggestionKind.ATTACH, 2),
    ]
    assert with_merge(TREE, parents, TREE.index("almond"), -0.5) == parents


def test_a_query_that_is_a_synonym_is_not_attached() -> None:
    merged = with_merge(TREE, ranked(("milk", 0.4)), TREE.index("almond"), 2.0)
    assert merged[0].kind == SuggestionKind.MERGE
    assert select_additions(merged).concepts == ()
    assert [s.parent.id for s in merges(merged)] == ["almond"]
    # It is less sure than what is asked for, and so it is no merge, nor is milk a parent.
    assert merges(merged, Acceptance(min_confidence=0.95)) == []
    assert select_additions(merged, Acceptance(min_confidence=0.95)).concepts == ()
    later = with_merge(TREE, ranked(("milk", 0.95)), TREE.index("almond"), 2.0)
    assert [parent for parent, _ in select_additions(later).relations] == ["milk"]


def test_children_named_after_the_query_might_move_below_it() -> None:
    names = {"f": "food", "o": "oat milk", "g": "Goat-milks", "b": "buttermilk", "t": "tea"}
    taxonomy = Taxonomy(
        [Concept(id, label) for id, label in names.items()],
        [("f", child) for child in names if child != "f"],
    )
    query, food = Concept("q", "milk"), taxonomy.concept("f")
    parents = [Suggestion(query, 1, food, ("food",), 0.9), Suggestion(query, 2, food, (), 0.1)]
    first, second = with_inserts(taxonomy, parents)
    assert (first.kind, first.moves) == (SuggestionKind.INSERT, ("o", "g"))
    assert second == parents[1]
    tea = [Suggestion(Concept("q", "coffee"), 1, food, ("food",), 0.9)]
    assert with_inserts(taxonomy, tea) == tea
    # The relations that are there stay: an insert is applied as an attach.
    assert select_additions([first]).relations == (("f", "q"),)


def test_nothing_is_merged_with_a_deprecated_concept() -> None:
    taxonomy = Taxonomy(
        [Concept("food", "food"), Concept("old", "old milk", deprecated=True)], [("food", "old")]
    )
    parents = [Suggestion(Concept("q", "milk"), 1, taxonomy.concept("food"), ("food",), 0.9)]
    assert with_merge(taxonomy, parents, taxonomy.index("old"), 5.0) == parents


@pytest.mark.parametrize("fused", [True, False])
def test_the_assessment_uses_the_features_of_abstention(model: TaxoExpan, fused: bool) -> None:
    labels = [f"{word} {number}" for number in range(MAX_BLOCK) for word in ("milk", "zinc")]
    queries = model._queries([Concept(label, label) for label in labels])
    ranker = model._ranker if fused else model._ranker.with_fusion(None)
    features = abstention_features(ranker, queries)
    abstention = AbstentionModel(
        center=tuple(np.median(features, axis=0).tolist()),
        scale=(1.0,) * len(ABSTENTION_FEATURES),
        threshold=0.0,
    )
    expected = abstention.has_parent(features)
    assert 0 < expected.sum() < len(labels)
    calibrators = replace(Calibrators(), abstention=abstention)
    _, has_parent, _ = Placer(ranker, calibrators).rank(queries, 3)
    assert has_parent.tolist() == expected.tolist()


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_of_damaged_weights_are_refused(
    model: TaxoExpan, monkeypatch: pytest.MonkeyPatch, score: float
) -> None:
    ranker, queries = model._ranker, model._queries([Concept("q", "oat")])
    rank = type(ranker).rank

    def damaged(*arguments: Any) -> Ranking:
        ranking = rank(*arguments)
        return replace(ranking, scores=np.full_like(ranking.scores, score))

    monkeypatch.setattr(type(ranker), "rank", damaged)
    with pytest.raises(DamagedModelError, match="NaN or infinite"):
        Placer(ranker, Calibrators()).suggest(queries, 3)


def test_rejected_parents_are_not_suggested(model: TaxoExpan) -> None:
    ranker, queries = model._ranker, model._queries([Concept("q", "oat")])
    first = Placer(ranker, Calibrators()).suggest(queries, 3)[0][0]
    rejections = Rejections.of([first])
    others, _ = Placer(ranker, Calibrators(), rejections).suggest(queries, 3)
    assert first.parent.id not in {each.parent.id for each in others}
    assert [each.rank for each in others] == [1, 2, 3]
    assert Rejections(**rejections.as_dict()) == rejections
