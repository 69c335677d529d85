from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

from taxoexpan import Concept, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.placement.fitting import preparation
from taxoexpan.placement.fitting.calibrator_learning import (
    FusionExamples,
    collect_examples,
    learn_calibrators,
)
from taxoexpan.placement.fitting.judged_taxonomy import apply_feedback
from taxoexpan.placement.fitting.preparation import (
    PreparedTaxonomy,
    StartingPoint,
    prepare_refit,
    prepare_taxonomy,
)
from taxoexpan.placement.scoring.anchors import Embedder
from taxoexpan.taxonomy import Additions
from taxoexpan.training.continuation import Recipe
from taxoexpan.training.log import TrainingLog
from tests.support.builders import KINDS, own
from tests.support.ctrl_c import press_ctrl_c
from tests.support.decisions import Feedback
from tests.support.small_models import SMALL


def test_the_vectors_of_remaining_concepts_share_the_memory_of_all_vectors(pantry: Path) -> None:
    whole = read_taxonomy(pantry)
    config = load_preset("fast", **SMALL, validation_fraction=0.5)
    embedder = Embedder(make_encoder("static"), config, torch.device("cpu"))
    prepared = prepare_taxonomy(whole, embedder, seed=0)
    remaining, known = prepared.holdout.taxonomy, prepared.data.anchors.vectors
    assert len(remaining) == len(whole) - 40
    assert torch.equal(prepared.vectors().stacked(), embedder.tensor(whole.concepts))
    assert torch.equal(known.stacked(), embedder.tensor(remaining.concepts))
    assert known.names.data_ptr() == prepared.stored.names.data_ptr()
    memory = prepared.stored.names.untyped_storage().nbytes()
    assert memory == 4 * len(whole) * embedder.encoder.dimension  # without those of head words


NEW = [f"{sort} {kind}" for kind in KINDS for sort in ("cashew", "white", "tomato")]
RECIPE = Recipe(epochs=2, tower_epochs=1)


def review() -> Feedback:
    """Every new food is accepted below its kind, and rejected below another kind and a sibling."""
    kinds = [name.split()[1] for name in NEW]
    wrong = [(name, "tea" if name.endswith("berry") else "berry") for name in NEW]
    accepted = [own(name, kind) for name, kind in zip(NEW, kinds, strict=True)]
    return Feedback(accepted, [own(name, parent) for name, parent in wrong])


def prepare(model: TaxoExpan, taxonomy: Taxonomy, feedback: Feedback) -> PreparedTaxonomy:
    archive = model._fitted()
    assert archive.held_out
    start = StartingPoint(
        archive.taxonomy, archive.network, archive.calibrators, model._ranker, archive.held_out
    )
    return prepare_refit(apply_feedback(taxonomy, feedback), start, model._embedder, RECIPE, 0)


def test_the_same_concepts_are_held_out_again(model: TaxoExpan) -> None:
    prepared = prepare(model, model.taxonomy, review())
    held_out = [concept.id for concept in prepared.holdout.concepts]
    assert held_out == list(model._fitted().held_out)
    remaining = prepared.data.anchors.taxonomy
    assert not {*held_out} & {*remaining}
    assert not {*NEW} & {*held_out}
    assert {*NEW} <= {*remaining.labels}


def test_a_held_out_concept_leaves_no_trace_in_what_is_new(model: TaxoExpan) -> None:
    """Neither as a rejected anchor, nor as a new concept's parent."""
    (held_out, *_) = model._fitted().held_out
    feedback = review()
    rejected = [*feedback.rejected, *(own(name, held_out) for name in NEW)]
    prepared = prepare(model, model.taxonomy, Feedback(feedback.accepted, rejected))
    remaining, changes = prepared.data.anchors.taxonomy, prepared.data.changes
    assert changes is not None
    assert held_out not in remaining
    assert len(changes.is_new) == len(changes.rejected) == len(remaining)
    by_label = {label: index for index, label in enumerate(remaining.labels)}
    for name in NEW:
        index = by_label[name]
        assert changes.is_new[index]
        wrong = "berry" if not name.endswith("berry") else "tea"
        assert [remaining.labels[i] for i in changes.rejected.of(index)] == [wrong]
    assert changes.is_new.sum() == len(NEW)


def test_a_held_out_concept_with_new_children_is_learned_from(model: TaxoExpan) -> None:
    (parent, *others) = model._fitted().held_out
    feedback = Feedback([own(f"organic {parent}", parent)])
    prepared = prepare(model, model.taxonomy, feedback)
    assert [concept.id for concept in prepared.holdout.concepts] == others
    assert parent in prepared.data.anchors.taxonomy


def test_only_concepts_that_the_earlier_model_has_not_seen_tell_how_it_ranks(
    model: TaxoExpan,
) -> None:
    larger = model.taxonomy.expanded(_additions(model.taxonomy, "cashew milk", "milk"))
    prepared = prepare(model, larger, Feedback([own("white tea", "tea")]))
    added = prepared.added
    assert added is not None
    assert {concept.label for concept in added.queries.concepts} == {"cashew milk", "white tea"}
    earlier = added.ranker.anchors.taxonomy
    for concept, parents in zip(added.queries.concepts, added.queries.parents, strict=True):
        assert [earlier.labels[i] for i in parents] == [concept.label.split()[1]]


def test_rejected_parents_are_candidates_of_the_fusion(
    model: TaxoExpan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taxoexpan.placement.fitting.calibrator_learning.CANDIDATES", 1)
    monkeypatch.setattr("taxoexpan.placement.fitting.calibrator_learning.RANDOM_CANDIDATES", 0)
    feedback = review()
    with_rejected, without = (
        _added_examples(model, Feedback(feedback.accepted, rejected))
        for rejected in (feedback.rejected, ())
    )
    assert np.isfinite(with_rejected.log_counts).sum() > np.isfinite(without.log_counts).sum()


def test_a_model_without_held_out_concepts_keeps_what_it_has_learned(model: TaxoExpan) -> None:
    archive = model._fitted()
    start = StartingPoint(
        archive.taxonomy, archive.network, archive.calibrators, model._ranker, ["gone"]
    )
    judged_taxonomy = apply_feedback(model.taxonomy, review())
    prepared = prepare_refit(judged_taxonomy, start, model._embedder, RECIPE, 0)
    learned, metrics = learn_calibrators(prepared, archive.network, model._embedder, 0)
    assert metrics is None
    assert learned.fusion == archive.calibrators.fusion
    assert learned.calibration == archive.calibrators.calibration


def test_a_model_of_another_taxonomy_is_refused(model: TaxoExpan) -> None:
    half = model.taxonomy.without(model.taxonomy.ids[:46])
    with pytest.raises(ModelError, match="this one has 43 of its 89 ids; train a new model"):
        preparation.refuse_other_taxonomy(model.taxonomy, half)
    preparation.refuse_other_taxonomy(
        model.taxonomy, model.taxonomy.without(model.taxonomy.ids[:44])
    )


@pytest.mark.parametrize(("size", "relations"), [(2, 1), (4, 1), (3, 2), (4, 3)])
def test_three_concepts_and_two_relations_are_enough(size: int, relations: int) -> None:
    concepts = [Concept(str(k), str(k)) for k in range(size)]
    taxonomy = Taxonomy(concepts, [("0", str(k)) for k in range(1, relations + 1)])
    if relations < 2:
        with pytest.raises(ModelError, match=f"{size} concept"):
            preparation.refuse_too_small(taxonomy)
    else:
        preparation.refuse_too_small(taxonomy)


def test_wrong_inputs_are_refused_before_the_training(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a Taxonomy"):
        preparation.check_inputs("food.csv", None, None)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="absent"):
        preparation.check_inputs(Taxonomy([], []), tmp_path / "absent" / "log.jsonl", None)


def _additions(taxonomy: Taxonomy, label: str, parent: str) -> Additions:
    return Additions(
        [Concept(label, label)], [(taxonomy.ids[taxonomy.labels.index(parent)], label)]
    )


def _added_examples(model: TaxoExpan, feedback: Feedback) -> FusionExamples:
    added = prepare(model, model.taxonomy, feedback).added
    assert added is not None
    return collect_examples(added.ranker, added.queries, 0, added.rejected)


@pytest.mark.parametrize("kind", ["model", pytest.param("tuned_model", marks=pytest.mark.slow)])
def test_a_continued_training_starts_from_the_earlier_weights(
    kind: str, request: pytest.FixtureRequest
) -> None:
    before: TaxoExpan = request.getfixturevalue(kind)
    after = copy.copy(before)
    after.refit(before.taxonomy, review(), recipe=Recipe(epochs=0, tower_epochs=0))
    one, other = before._fitted(), after._fitted()
    for name, tensor in one.network.state_dict().items():
        assert torch.equal(tensor, other.network.state_dict()[name])
    assert (one.tower is None) == (other.tower is None)
    if one.tower is not None and other.tower is not None:
        assert one.tower.tuned is not None
        assert other.tower.tuned is not None
        for name, tensor in one.tower.tuned.state_dict().items():
            assert torch.equal(tensor, other.tower.tuned.state_dict()[name])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "tuned_model"])
def test_the_network_and_the_tower_learn_from_decisions(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    before: TaxoExpan = request.getfixturevalue(kind)
    weights = {n: t.clone() for n, t in before._fitted().network.state_dict().items()}
    one, same = copy.copy(before), copy.copy(before)
    for each in (one, same):
        each.refit(before.taxonomy, review(), recipe=RECIPE, log=tmp_path / "log")
    new = one._fitted().network.state_dict()
    assert any(not torch.equal(tensor, new[name]) for name, tensor in weights.items())
    for name, tensor in before._fitted().network.state_dict().items():
        assert torch.equal(tensor, weights[name])  # the earlier model is unchanged
    again = same._fitted()
    assert all(torch.equal(t, again.network.state_dict()[n]) for n, t in new.items())
    if one._tower is not None and same._tower is not None and before._tower is not None:
        first, second = one._tower.weights(), same._tower.weights()
        assert all(torch.equal(first[name], second[name]) for name in first)
    assert one.calibrators == same.calibrators
    assert len((tmp_path / "log").read_text(encoding="utf-8").splitlines()) == 4
    assert {*NEW} <= {*one.taxonomy.labels}
    assert {s.parent.label for s in one.suggest(["white oat milk"], top_k=40).flat} & {*NEW}


def test_ctrl_c_keeps_the_earlier_tower(
    tuned_model: TaxoExpan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainingLog, "write", lambda *_: press_ctrl_c())
    stopped = copy.copy(tuned_model)
    stopped.refit(tuned_model.taxonomy, review(), recipe=RECIPE)
    assert stopped.training.interrupted
    assert stopped._tower is not None
    assert tuned_model._tower is not None
    assert stopped._tower.tuned is tuned_model._tower.tuned
    assert stopped._tower.maps is tuned_model._tower.maps
    assert stopped.suggest(["white oat milk"]).flat
