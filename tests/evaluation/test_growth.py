from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.errors import ModelError, TaxonomyError
from taxoexpan.evaluation.growth import Growth, growth_between
from taxoexpan.evaluation.methods import METHODS, make_method
from taxoexpan.evaluation.results import evaluate_methods
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import compute_metrics
from tests.support.metric_probes import PROBES
from tests.support.small_models import SMALL

QUICK = {**SMALL, "epochs": 3}
ADDED = [
    ("cashew milk", ["milk"]),
    ("white tea", ["food", "tea"]),
    ("bean curd", ["curd", "cheese"]),  # curd is deprecated in the old version
    ("cashew milk drink", ["cashew milk"]),
    ("rice", []),
]


@pytest.fixture(scope="module")
def old(pantry: Path) -> Taxonomy:
    known = read_taxonomy(pantry)
    return Taxonomy(
        [*known.concepts, Concept("curd", "curd", deprecated=True)],
        [*known.relations, ("cheese", "curd")],
    )


@pytest.fixture(scope="module")
def new(old: Taxonomy) -> Taxonomy:
    """The old one with concepts to place, and others that are left out."""
    concepts = [Concept(name, name) for name, _ in ADDED]
    concepts += [Concept("m1", "Oat-Milk"), Concept("m2", "stale milk", deprecated=True)]
    relations = [(parent, name) for name, parents in ADDED for parent in parents]
    relations += [("milk", "m1"), ("milk", "m2")]
    return Taxonomy([*old.concepts, *concepts], [*old.relations, *relations])


@pytest.fixture(scope="module")
def growth(old: Taxonomy, new: Taxonomy) -> Growth:
    return growth_between(old, new)


def truth(growth: Growth) -> dict[str, list[str]]:
    """The queries with the ids of their true parents."""
    pairs = zip(growth.queries.concepts, growth.queries.parents, strict=True)
    return {concept.id: [growth.taxonomy.ids[i] for i in parents] for concept, parents in pairs}


def test_queries_are_new_concepts_under_old_ones(growth: Growth, old: Taxonomy) -> None:
    assert truth(growth) == {
        "cashew milk": ["milk"],
        "white tea": ["food", "tea"],
        "bean curd": ["cheese"],
    }
    assert set(growth.taxonomy) == set(old) - {"curd"}


def test_left_out_concepts_are_counted(growth: Growth) -> None:
    assert (growth.known, growth.orphans, growth.deprecated) == (1, 2, 1)


def test_synonyms_and_retired_names_are_known_too(old: Taxonomy) -> None:
    concepts = [replace(c, synonyms=("Soy milk",)) if c.id == "milk" else c for c in old.concepts]
    before = Taxonomy(concepts, old.relations)
    again = [Concept("1", "soy-milk"), Concept("2", "Curd"), Concept("3", "rice milk")]
    after = Taxonomy([*concepts, *again], [*old.relations, *(("milk", c.id) for c in again)])
    growth = growth_between(before, after)
    assert truth(growth) == {"3": ["milk"]}
    assert growth.known == 2


def test_moves_of_old_concepts_are_no_queries(old: Taxonomy) -> None:
    moved = Taxonomy(
        [*old.concepts, Concept("rice milk", "rice milk")],
        [*old.relations, ("tea", "oat milk"), ("milk", "rice milk")],
    )
    assert truth(growth_between(old, moved)) == {"rice milk": ["milk"]}


def test_two_versions_without_growth_are_refused(old: Taxonomy, new: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match="that the old one lacks; give the old release first"):
        growth_between(new, old)
    unrelated = Taxonomy([Concept("x", "x"), Concept("y", "y")], [("x", "y")])
    with pytest.raises(TaxonomyError, match=r"none of the 2 new concepts .* the same ids"):
        growth_between(old, unrelated)


def test_every_active_concept_is_an_anchor(growth: Growth) -> None:
    begun: list[str] = []
    methods = {name: make_method(name) for name in ("closest-parent", "popularity")}
    ranks = evaluate_methods(growth.queries, methods, StaticEncoder(), begin=begun.append)
    assert list(ranks) == begun == ["closest-parent", "popularity"]
    encoder, taxonomy = StaticEncoder(), growth.taxonomy
    anchors = embed_concepts(encoder, taxonomy.concepts)[0]
    queries = embed_concepts(encoder, growth.queries.concepts)[0]
    for place, parents in enumerate(growth.queries.parents):
        for nth, parent in enumerate(parents):
            others = [i for i in range(len(taxonomy)) if i not in parents]
            cosines = anchors @ queries[place]
            ahead = (cosines[others] > cosines[parent]).sum()
            assert ranks["closest-parent"].ranks[place][nth] == 1 + ahead
    # All eight kinds have ten children: half of the seven others count as higher.
    assert [r.tolist() for r in ranks["popularity"].ranks] == [[4.5], [4.5], [8.0, 4.5]]


@pytest.mark.parametrize("name", PROBES)
def test_a_method_without_knowledge_ranks_in_the_middle(
    growth: Growth, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, name, PROBES[name])
    (result,) = evaluate_methods(
        growth.queries, {name: make_method(name)}, StaticEncoder()
    ).values()
    anchors, metrics = len(growth.taxonomy), compute_metrics(result.ranks)
    # Other true parents are not counted.
    last = [[anchors - len(ranks) + 1.0] * len(ranks) for ranks in result.ranks]
    if name == "zeros":
        assert [r.tolist() for r in result.ranks] == [[(r + 1) / 2 for r in each] for each in last]
    if name == "reversed":
        assert [r.tolist() for r in result.ranks] == last
    if name != "random":
        assert metrics.hit_at_10 == 0


def suggested_ranks(model: TaxoExpan, growth: Growth) -> list[list[float]]:
    """The ranks of the true parents in the complete lists of suggestions."""
    ranks = []
    for concept, parents in zip(growth.queries.concepts, growth.queries.parents, strict=True):
        true = {growth.taxonomy.ids[i] for i in parents}
        ranked = model.suggest([concept], top_k=len(growth.taxonomy)).flat
        scores = {s.parent.id: s.score for s in ranked if s.kind != "merge"}
        others = np.array([score for id, score in scores.items() if id not in true])
        own = [scores[growth.taxonomy.ids[i]] for i in parents]
        ranks.append(
            [1 + float((others > score).sum() + (others == score).sum() / 2) for score in own]
        )
    return ranks


@pytest.mark.parametrize("settings", [{}, {"use_mentions": True}, {"learn_fusion": False}])
def test_models_are_ranked_as_they_suggest(growth: Growth, settings: dict[str, bool]) -> None:
    model = TaxoExpan("fast", 2, "cpu", **QUICK, **settings)
    (result,) = evaluate_methods(growth.queries, {"model": model}, StaticEncoder()).values()
    again = TaxoExpan("fast", 2, "cpu", **QUICK, **settings).fit(growth.taxonomy)
    assert [ranks.tolist() for ranks in result.ranks] == suggested_ranks(again, growth)
    assert result.features == "static"
    # The pantry is too small for the network alone.
    assert (result.confidence is None) == ("learn_fusion" in settings)


def test_an_interrupted_model_is_not_compared(
    growth: Growth, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingLog, "write", interrupt)
    model = TaxoExpan("fast", 2, "cpu", **QUICK)
    with pytest.raises(KeyboardInterrupt):
        evaluate_methods(growth.queries, {"model": model}, StaticEncoder())


def test_too_little_to_learn_from_is_refused() -> None:
    old = Taxonomy([Concept("a", "a"), Concept("b", "b")], [("a", "b")])
    new = Taxonomy([*old.concepts, Concept("c", "c")], [("a", "b"), ("a", "c")])
    with pytest.raises(ModelError, match="too little to learn from"):
        evaluate_methods(growth_between(old, new).queries, {}, StaticEncoder())
