"""A held-out concept leaves no trace in the features that the fusion is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.placement.fitting import calibrator_learning
from taxoexpan.placement.fitting.calibrator_learning import FusionExamples
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept
from tests.support.builders import KINDS, SORTS
from tests.support.fused_cases import random_fusion
from tests.support.small_models import SMALL

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


@dataclass(frozen=True)
class Fitted:
    """A fitted model, with the ranker and the held-out queries that its fusion was learned from."""

    model: TaxoExpan
    ranker: Ranker
    queries: LabeledQueries

    @property
    def features(self) -> Tensor:
        """All features of the held-out queries [F, N, Q]."""
        return self.ranker.features(self.queries)


def fit(taxonomy: Taxonomy, **settings: object) -> Fitted:
    seen: list[tuple[Ranker, LabeledQueries]] = []
    collect = calibrator_learning.collect_examples

    def keep(ranker: Ranker, queries: LabeledQueries, seed: int) -> FusionExamples:
        seen.append((ranker, queries))
        return collect(ranker, queries, seed)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(calibrator_learning, "collect_examples", keep)
        model = TaxoExpan("fast", device="cpu", **{**SMALL, "epochs": 3, **settings}).fit(taxonomy)
    return Fitted(model, *seen[0])


def defined_pantry() -> Taxonomy:
    """The pantry with a definition of each food, which mentions other foods."""
    concepts = [Concept("food", "food")]
    concepts += [Concept(kind, kind, (f"{kind} food",), "a kind of food") for kind in KINDS]
    concepts += [
        Concept(
            f"{sort} {kind}", f"{sort} {kind}", (), f"{kind} of {sort}, as {SORTS[i - 1]} {kind}"
        )
        for kind in KINDS
        for i, sort in enumerate(SORTS)
    ]
    relations = [("food", kind) for kind in KINDS]
    relations += [(kind, f"{sort} {kind}") for kind in KINDS for sort in SORTS]
    return Taxonomy(concepts, relations)


@pytest.mark.parametrize("tower", [False, True], ids=["static", "tower"])
def test_features_are_those_of_a_taxonomy_that_never_had_the_held_out_concepts(
    tower: bool, tiny_transformer: Path
) -> None:
    settings: dict[str, object] = {"validation_fraction": 0.5}
    if tower:
        settings |= {"features": f"static+transformer:{tiny_transformer}", "tower_epochs": 1}
    whole = defined_pantry()
    fitted = fit(whole, **settings)
    embedder = fitted.model._embedder
    assert embedder.config.uses_mentions
    held_out = {concept.id for concept in fitted.queries.concepts}
    assert len(held_out) == 40
    rest = Taxonomy(
        [concept for concept in whole.concepts if concept.id not in held_out],
        [pair for pair in whole.relations if not held_out & {*pair}],
    ).canonical
    assert rest.ids == fitted.ranker.anchors.taxonomy.ids
    assert any(not rest.children(kind) for kind in KINDS)  # whole families are held out
    vectors = ConceptVectors.of(embedder.tensor(rest.concepts))
    texts = AnchorTexts.of(rest, embedder.tower)
    anchors = Anchors(rest, vectors, embedder.config.max_siblings, texts=texts)
    concepts = [whole.concept(concept.id) for concept in fitted.queries.concepts]
    queries = embedder.queries(concepts, embedder.lexicon(rest))
    ranker = Ranker(fitted.model._fitted().network, anchors)
    assert (embedder.tower is not None) == tower
    assert torch.equal(fitted.features, ranker.features(queries))
    rankers = [each.with_fusion(random_fusion(0)) for each in (fitted.ranker, ranker)]
    of_model, of_rest = (each.scores(queries) for each in rankers)
    assert torch.equal(of_model, of_rest)
    assert [own.tolist() for own in fitted.queries.parents] == [
        [rest.index(parent) for parent in whole.parents(concept.id)] for concept in concepts
    ]


def made_taxonomy() -> Taxonomy:
    """Twelve groups of things with random names; half of the things have children of their own.

    A child is named after its parent, as in real taxonomies. Nothing else tells the things with
    children from the others.
    """
    rng = np.random.default_rng(5)

    def word() -> str:
        return "".join(rng.choice(SYLLABLES, 3))

    words = [word() for _ in range(80)]
    labels, relations = ["everything"], []
    for _ in range(12):
        group = f"{word()} {rng.choice(words)}"
        labels.append(group)
        relations.append(("everything", group))
        for _ in range(25):
            thing = f"{word()} {rng.choice(words)}"
            labels.append(thing)
            relations.append((group, thing))
            for _ in range(rng.choice([0, 0, 0, 1, 2, 3])):
                child = f"{rng.choice(words)} {word()} {thing.split()[-1]}"
                labels.append(child)
                relations.append((thing, child))
    return Taxonomy([Concept(label, label) for label in labels], relations)


def area_under_curve(values: NDArray[np.floating], is_positive: NDArray[np.bool_]) -> float:
    """The probability that a positive has a higher value than a negative; a tie counts half."""
    positive, negative = values[is_positive][:, None], values[~is_positive][None]
    return float(((positive > negative) + 0.5 * (positive == negative)).mean())


@pytest.fixture(scope="module")
def grown() -> Fitted:
    return fit(made_taxonomy(), validation_fraction=0.7)


def separation(fitted: Fitted, features: Tensor, ids: list[str]) -> dict[str, float]:
    """How well each feature tells leaves whose family is held out from things that were leaves.

    A feature is averaged over the held-out queries that belong elsewhere.
    """
    whole = fitted.model.taxonomy
    remaining = fitted.ranker.anchors.taxonomy
    things = [id for id in remaining.ids if len(whole.path(id)) == 3 and not remaining.children(id)]
    lost_family = np.array([bool(whole.children(id)) for id in things])
    assert min(lost_family.sum(), (~lost_family).sum()) > 40
    elsewhere = [
        column
        for column, concept in enumerate(fitted.queries.concepts)
        if not {*things} & {*whole.parents(concept.id)}
    ]
    assert len(elsewhere) > 40
    rows = [ids.index(thing) for thing in things]
    means = features[:, rows][:, :, elsewhere].mean(2).numpy()
    return {
        name: area_under_curve(values, lost_family)
        for name, values in zip(PAIR_FEATURES, means, strict=True)
    }


@pytest.mark.slow
def test_no_feature_tells_a_parent_that_lost_its_children_from_one_that_never_had_any(
    grown: Fitted,
) -> None:
    found = separation(grown, grown.features, grown.ranker.anchors.taxonomy.ids)
    assert {name: area for name, area in found.items() if not 0.35 <= area <= 0.65} == {}


def test_the_whole_taxonomy_would_tell_them_apart(grown: Fitted) -> None:
    """The same measure, for features that do know the held-out concepts."""
    whole, embedder = grown.model.taxonomy, grown.model._embedder
    vectors = ConceptVectors.of(embedder.tensor(whole.concepts))
    anchors = Anchors(whole, vectors, 50, texts=AnchorTexts.of(whole, None))
    ranker = Ranker(grown.ranker.network, anchors)
    found = separation(grown, ranker.features(grown.queries), list(whole.ids))
    assert found["children"] == 1.0
    assert found["leaf"] == 0.0
    assert found["network"] > 0.65 or found["network"] < 0.35
