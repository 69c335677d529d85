from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.experiments import Experiment, find_experiments
from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.signals import (
    GROUPS,
    WHOLE,
    SignalsResult,
    fusion_without,
    left_out_features,
    measure,
    ranks_by,
    tables,
)
from reproduction.measurements.trial import Data, Trial
from reproduction.runs import TaskInfo
from taxoexpan import TaxoExpan
from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.fitting.calibrator_learning import FusionExamples
from taxoexpan.placement.learned.priors import FusionPrior
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.training.holdout import hold_out_growth

QUICK: dict[str, Any] = {
    "features": "static",
    "epochs": 1,
    "hidden_dim": 8,
    "embedding_dim": 32,
    "num_negatives": 64,
    "batch_size": 32,
}


def examples(seed: int, queries: int = 12, candidates: int = 6) -> FusionExamples:
    """Return random examples whose first candidate is the true parent."""
    rng = np.random.default_rng(seed)
    shape = queries, candidates
    is_parent = np.zeros(shape, dtype=bool)
    is_parent[:, 0] = True
    features = rng.normal(size=(*shape, len(PAIR_FEATURES))).astype(np.float32)
    return FusionExamples(features, is_parent, np.zeros(shape, dtype=np.float32))


def test_features_that_are_left_out_have_no_weight_and_no_effect() -> None:
    prior = FusionPrior.around(SignalFusion.from_mapping({"network": 0.5, "name": 1.0}))
    known = examples(1)
    fusion = fusion_without(known, prior, ["name", "head"])
    weights = fusion.as_mapping()
    assert (weights["name"], weights["head"]) == (0.0, 0.0)
    assert weights["network"] != 0.5
    changed = known.features.copy()
    changed[..., [list(PAIR_FEATURES).index(name) for name in ("name", "head")]] += 3.0
    assert fusion_without(replace(known, features=changed), prior, ["name", "head"]) == fusion


def test_every_feature_is_left_out_once_alone_and_in_groups() -> None:
    chosen = left_out_features({"each_feature": True})
    assert {chosen[name] for name in PAIR_FEATURES} == {(name,) for name in PAIR_FEATURES}
    assert set(GROUPS) < set(chosen)
    assert {name for features in GROUPS.values() for name in features} == set(PAIR_FEATURES)


def test_lists_of_a_file_have_features_and_groups() -> None:
    own = {"a few": ["network", "head words", "head"]}
    assert left_out_features({"without": own}) == {"a few": ("network", *GROUPS["head words"])}
    with pytest.raises(ConfigurationError, match="foot"):
        left_out_features({"without": {"unknown": ["foot"]}})


def test_the_models_own_weights_give_its_own_ranks(pantry: Path) -> None:
    outer = hold_out_growth(Data.read(pantry, None).taxonomy, 0.2, 15, 1).canonical
    model = TaxoExpan("fast", device="cpu", **QUICK | {"validation_fraction": 0.9})
    model.fit(outer.taxonomy)
    fusion = model.calibrators.fusion
    assert fusion is not None
    (ranks,) = ranks_by(*model._held_out(outer), [fusion])
    assert np.concatenate(ranks) == pytest.approx(np.concatenate(model.true_ranks(outer)))


def test_nothing_left_out_changes_nothing(pantry: Path) -> None:
    (experiment,) = find_experiments(["signals/best"])
    settings = experiment.settings | QUICK | {"validation_fraction": 0.5}
    parameters = {"count": 15, "without": {"nothing": []}}
    trial = Trial(
        replace(experiment, settings=settings, parameters=parameters),
        Data.read(pantry, None),
        seed=0,
        device="cpu",
    )
    result = SignalsResult(**measure(trial))
    assert list(result.variants) == [WHOLE, "nothing"]
    assert result.variants["nothing"] == pytest.approx(result.variants[WHOLE])
    assert result.cpu_seconds > 0


def run(title: str, data: str, seed: int, hits: dict[str, float]) -> MeasuredRun:
    """Return a stored run with these values of all metrics by variant."""
    names = ("hit_at_1", "hit_at_3", "hit_at_10", "reciprocal_rank")
    variants = {variant: dict.fromkeys(names, value) for variant, value in hits.items()}
    result = SignalsResult(90, 10, variants, 0.5, None, None, 1.0)
    experiment = Experiment("signals/x", title=title, measurement="signals")
    task = TaskInfo(data, "", "")
    return MeasuredRun(experiment, seed, task, asdict(result), 1.0, "cpu", {})


def test_differences_are_paired_by_seed() -> None:
    text = tables(
        [
            run("whole", "a", 0, {WHOLE: 0.5, "words": 0.4}),
            run("whole", "a", 1, {WHOLE: 0.6, "words": 0.48}),
            run("whole", "b", 0, {WHOLE: 0.7, "words": 0.7}),
            run("other", "a", 1, {WHOLE: 0.5}),
        ]
    )
    assert "| whole, without words | -.110 ± .010 | +.000 | -.055 |" in text
    assert "| other | -.100 |  | -.100 (1 data set) |" in text
    assert "| a | whole | 90 | 10 | .550 | .550 | .550 | .550 | .50 | – | – | 1 | 2 |" in text
