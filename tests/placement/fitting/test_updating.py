from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.errors import ModelError
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy, StartingPoint
from taxoexpan.placement.fitting.updating import (
    NO_GROWTH,
    RETRAINING_SHARE,
    EncodedTaxonomy,
    TaxonomyGrowth,
    VersionRows,
    growth_between,
    update_encoding,
)
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.training.continuation import Recipe
from tests.support.builders import own
from tests.support.decisions import Rejections
from tests.support.random_growth import grown


def between(old: Taxonomy, new: Taxonomy) -> TaxonomyGrowth:
    return growth_between(VersionRows.match(old, new))


@pytest.mark.parametrize("seed", range(3))
def test_the_growth_is_the_difference_of_the_versions(model: TaxoExpan, seed: int) -> None:
    old = model.taxonomy
    new = grown(old, seed)
    growth, difference = between(old, new), Difference(old, new)
    assert growth.added == {concept.id for concept in difference.added}
    assert growth.removed == {concept.id for concept in difference.removed}
    assert growth.changed == {change.new.id for change in difference.changed}
    assert growth.relations_added == set(difference.relations_added)
    assert growth.relations_removed == set(difference.relations_removed)


@pytest.mark.parametrize("seed", range(3))
def test_two_updates_add_up_to_the_difference_since_the_training(
    model: TaxoExpan, seed: int
) -> None:
    first = model.taxonomy
    second = grown(first, seed)
    third = grown(second, 100 + seed)
    total = between(first, second).followed_by(between(second, third))
    direct = between(first, third)
    assert total.added == direct.added
    assert total.removed == direct.removed
    assert total.relations_added == direct.relations_added
    assert total.relations_removed == direct.relations_removed
    assert direct.changed <= total.changed  # a change that was taken back still counts


def test_what_comes_and_goes_again_leaves_no_trace(model: TaxoExpan) -> None:
    smaller = model.taxonomy.without(["oat milk"])
    there, back = between(smaller, model.taxonomy), between(model.taxonomy, smaller)
    assert not there.followed_by(back)
    returned = back.followed_by(there)
    assert returned == TaxonomyGrowth(changed=frozenset({"oat milk"}))


def test_training_is_advised_from_a_share_of_added_concepts_on() -> None:
    added = frozenset(f"c{i}" for i in range(round(1000 * RETRAINING_SHARE)))
    assert TaxonomyGrowth(added=added).is_training_advised(1000)
    assert not TaxonomyGrowth(added=added).is_training_advised(1001)
    assert not NO_GROWTH.is_training_advised(0)


def test_it_survives_json_and_describes_itself() -> None:
    growth = TaxonomyGrowth(
        frozenset("ab"), frozenset("c"), frozenset("d"), frozenset({("x", "a")}), frozenset()
    )
    assert TypeAdapter(TaxonomyGrowth).validate_json(json.dumps(growth.as_dict())) == growth
    text = (
        "2 concepts added (2.0\N{NO-BREAK SPACE}%), 1 removed, 1 changed (1.0\N{NO-BREAK SPACE}%)"
    )
    assert growth.sentence(100) == f"{text}; 1 relation added, 0 removed"
    assert growth.figures(100, 50)["relations_added_share"] == 0.02


TOLERANCE = 1e-6


def encoded(taxonomy: Taxonomy, model: TaxoExpan, embedder: Embedder) -> EncodedTaxonomy:
    """Encode a whole taxonomy."""
    vectors = ConceptVectors.of(embedder.tensor(taxonomy.concepts))
    anchors = Anchors(taxonomy, vectors, embedder.config.max_siblings)
    texts = AnchorTexts.of(taxonomy, embedder.tower)
    return EncodedTaxonomy(taxonomy, vectors, anchors.encode(model._fitted().network), texts)


def assert_same(one: EncodedTaxonomy, other: EncodedTaxonomy) -> None:
    assert one.taxonomy == other.taxonomy
    torch.testing.assert_close(one.vectors.names, other.vectors.names, rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(
        one.vectors.stacked(), other.vectors.stacked(), rtol=0, atol=TOLERANCE
    )
    assert len(one.vectors.heads) == len(other.vectors.heads)
    torch.testing.assert_close(one.keys, other.keys, rtol=0, atol=TOLERANCE)
    assert one.texts is not None
    assert other.texts is not None
    for vectors in zip(one.texts.tower or (), other.texts.tower or (), strict=True):
        torch.testing.assert_close(*vectors, rtol=0, atol=TOLERANCE)
    assert one.texts.words.vocabulary == other.texts.words.vocabulary
    assert (one.texts.words.paths != other.texts.words.paths).nnz == 0


def few_siblings(model: TaxoExpan) -> Embedder:
    """Egonets of at most three siblings, so that an added child changes which ones are chosen."""
    settings = model.config.model_copy(update={"max_siblings": 3})
    return replace(model._embedder, config=settings)


@pytest.mark.parametrize("seed", range(4))
def test_random_growth_is_encoded_as_a_whole_version_would_be(model: TaxoExpan, seed: int) -> None:
    embedder, network = few_siblings(model), model._fitted().network
    state = encoded(model.taxonomy, model, embedder)
    for step in range(2):
        newer = grown(state.taxonomy, 10 * seed + step, 0.05)
        state, report = update_encoding(state, newer, network, embedder)
        assert_same(state, encoded(newer, model, embedder))
        assert 0 < report.vectors <= report.keys < len(newer)
        assert report.texts == 0


@pytest.mark.parametrize("seed", range(2))
def test_the_fine_tuned_encoder_reads_only_changed_texts(tuned_model: TaxoExpan, seed: int) -> None:
    embedder, network = few_siblings(tuned_model), tuned_model._fitted().network
    old, newer = encoded(tuned_model.taxonomy, tuned_model, embedder), tuned_model.taxonomy
    newer = grown(newer, seed, 0.03)
    new, report = update_encoding(old, newer, network, embedder)
    assert_same(new, encoded(newer, tuned_model, embedder))
    assert 0 < report.texts < len(newer)


def relabeled(taxonomy: Taxonomy, id: str, label: str) -> Taxonomy:
    concepts = [replace(c, label=label) if c.id == id else c for c in taxonomy.concepts]
    return Taxonomy(concepts, taxonomy.relations)


def test_a_new_label_of_a_parent_changes_the_descriptions_of_its_children(
    tuned_model: TaxoExpan,
) -> None:
    model = copy.copy(tuned_model)
    report = model.update(relabeled(model.taxonomy, "milk", "plant drink"))
    assert report.vectors == 1
    assert report.texts == 1 + 11  # the query "plant drink", and the anchors: itself, 10 children
    assert report.keys == 1 + 1 + 10  # its own egonet, its parent's, and those of its children
    assert report.changes.changed == {"milk"}


def test_an_equal_version_changes_nothing(model: TaxoExpan) -> None:
    updated = copy.copy(model)
    report = updated.update(model.taxonomy)
    assert (report.vectors, report.keys, report.texts) == (0, 0, 0)
    assert not updated.growth
    assert updated.suggest(["cashew milk"]).flat == model.suggest(["cashew milk"]).flat


def with_new(taxonomy: Taxonomy, *labels: str) -> Taxonomy:
    """Add concepts below the milk."""
    new = [Concept(label, label) for label in labels]
    relations = [*taxonomy.relations, *(("milk", label) for label in labels)]
    return Taxonomy([*taxonomy.concepts, *new], relations)


def test_added_concepts_are_suggested_as_parents(model: TaxoExpan) -> None:
    updated = copy.copy(model)
    newer = with_new(model.taxonomy, "nut milk").canonical
    assert updated.update(newer).changes.added == {"nut milk"}
    best = updated.suggest(["roasted nut milk"]).flat
    assert "nut milk" in {suggestion.parent.label for suggestion in best}
    same, anew = updated._ranker, model._ranker_of(newer)
    queries = model._queries([Concept("x", "roasted nut milk")])
    torch.testing.assert_close(same.scores(queries), anew.scores(queries), rtol=0, atol=1e-4)
    assert "nut milk" not in model.taxonomy  # the model that it was copied from is as it was


def test_what_the_model_has_learned_stays_and_vanished_ids_are_dropped(model: TaxoExpan) -> None:
    updated = copy.copy(model)
    first, *others = model._fitted().held_out
    rejected = [own("nut cheese", id) for id in ("milk", first)]
    archive = replace(model._fitted(), rejections=Rejections.of(rejected))
    updated._reset(archive)
    updated.update(model.taxonomy.without([first]))
    new = updated._fitted()
    assert new.held_out == tuple(others)
    assert new.rejections.parents == {"nut cheese": ("milk",)}
    assert new.calibrators is archive.calibrators
    assert new.training is archive.training
    assert updated.growth.removed == {first}


def test_another_taxonomy_is_refused(model: TaxoExpan) -> None:
    other = Taxonomy([Concept("a", "a"), Concept("b", "b")], [("a", "b")])
    with pytest.raises(ModelError, match="this one has 0 of its 89 ids; train a new model"):
        copy.copy(model).update(other)


def test_a_continued_training_learns_from_concepts_that_an_update_has_added(
    model: TaxoExpan, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taxoexpan import model as facade

    updated, seen = copy.copy(model), []
    newer = with_new(model.taxonomy, "nut milk", "pea milk")
    updated.update(newer)
    prepare = facade.prepare_refit

    def spy(judged: JudgedTaxonomy, start: StartingPoint, *others: Any) -> PreparedTaxonomy:
        prepared = prepare(judged, start, *others)
        seen.append((start.taxonomy, prepared))
        return prepared

    monkeypatch.setattr(facade, "prepare_refit", spy)
    updated.refit(newer, recipe=Recipe(epochs=1, tower_epochs=1))
    ((trained, prepared),) = seen
    assert trained == model.taxonomy
    remaining = prepared.holdout.taxonomy
    new = [remaining.ids[i] for i in np.flatnonzero(prepared.data.changes.is_new)]
    assert new == ["nut milk", "pea milk"]
    assert not updated.growth
