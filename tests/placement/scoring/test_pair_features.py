from __future__ import annotations

import numpy as np
import torch

from taxoexpan.placement.scoring.pair_features import (
    PAIR_FEATURES,
    Input,
    Signal,
    SignalFusion,
    pair_features,
)
from tests.support.fused_cases import random_fusion

NAMES = list(PAIR_FEATURES)


def test_features_of_leaves_are_zero_for_anchors_with_children() -> None:
    inputs = torch.rand(len(Input), 5, generator=torch.Generator().manual_seed(0)) + 1
    is_leaf = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0])
    features = pair_features(inputs, is_leaf)
    for copy, original in (("network", "network"), ("tower", "tower_anchor"), ("name", "name")):
        expected = features[NAMES.index(original)] * is_leaf
        assert torch.equal(features[NAMES.index(f"leaf_{copy}")], expected)
    assert torch.equal(features[NAMES.index("leaf")], inputs[Input.ONE] * is_leaf)


def test_every_input_has_a_feature_and_the_weights_of_inputs_give_the_same_score() -> None:
    inputs = torch.randn(len(Input), 6, generator=torch.Generator().manual_seed(1)).double()
    is_leaf, fusion = torch.tensor([1.0, 0.0] * 3).double(), random_fusion(2)
    expected = np.array(fusion.weights) @ pair_features(inputs, is_leaf).numpy()
    of_parents, of_leaves = fusion.input_weights() @ inputs.numpy()
    found = np.where(is_leaf.numpy(), of_leaves, of_parents)
    np.testing.assert_allclose(found, expected)
    assert {feature.input for feature in PAIR_FEATURES.values()} == {*Input}


def test_the_contributions_of_all_signals_sum_up_to_the_score() -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(len(PAIR_FEATURES), 4, generator=generator).double()
    fusion = SignalFusion(tuple(torch.randn(len(PAIR_FEATURES), generator=generator).tolist()))
    parts = fusion.contributions(features.numpy())
    assert {*parts} == {*Signal}
    np.testing.assert_allclose(sum(parts.values()), np.array(fusion.weights) @ features.numpy())
    words = SignalFusion.from_mapping({"ending": 2.0, "path_words": -1.0})
    only = words.contributions(features.numpy())
    names = list(PAIR_FEATURES)
    expected = 2 * features[names.index("ending")] - features[names.index("path_words")]
    np.testing.assert_allclose(only[Signal.WORDS], expected)
    assert not any(part.any() for signal, part in only.items() if signal != Signal.WORDS)


def test_weights_are_kept_by_the_names_of_their_features() -> None:
    fusion = SignalFusion(tuple(float(i) for i in range(len(PAIR_FEATURES))))
    assert SignalFusion.from_mapping(fusion.as_mapping()) == fusion
    assert fusion.as_mapping()["network"] == 0.0
    assert fusion.as_mapping()["leaf_name"] == len(PAIR_FEATURES) - 1
    assert SignalFusion.from_mapping({"name": 3}).as_mapping()["name"] == 3.0
    assert sum(SignalFusion.from_mapping({"name": 3}).weights) == 3.0


def test_the_signals_are_those_with_a_weight() -> None:
    fusion = SignalFusion.from_mapping({"leaf": -0.5, "tower_mean_child": 1.0, "name": 0.0})
    assert fusion.signals == (Signal.TOWER, Signal.STRUCTURE)
