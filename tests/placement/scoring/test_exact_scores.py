from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from fused_cases import DIMENSION, all_features, fused_case
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import ModelError
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.scoring import cosine_scores, exact_scores
from taxoexpan.placement.scoring.pair_features import FEATURES, AnchorTexts
from taxoexpan.placement.scoring.ranking import Anchors, Ranker
from taxoexpan.placement.scoring.signal_fusion import SignalFusion
from taxoexpan.taxonomy import Taxonomy

VARIANTS: tuple[dict[str, object], ...] = (
    {},
    {"fusion_dim": 0},
    {"matching": "mlp"},
    {"matching": "mlp", "quirks": {"mlp_relu": True}},
    {"quirks": {"double_exp": True}},
    {"use_mentions": True},
    {"use_mentions": True, "matching": "mlp"},
)
fusions = st.lists(
    st.one_of(st.just(0.0), st.floats(-1, 1)), min_size=len(FEATURES), max_size=len(FEATURES)
)


def with_mentions(queries: LabeledQueries, anchors: int, seed: int) -> LabeledQueries:
    """Add up to three mentions to each query."""
    rng = np.random.default_rng(seed)
    rows = [
        [(int(rng.integers(anchors)), int(rng.integers(len(MentionKind)))) for _ in range(i % 4)]
        for i in range(len(queries))
    ]
    return replace(queries, mentions=Mentions.from_rows(rows))


def shaped(ranker: Ranker, shape: str, chosen: np.ndarray | None) -> Ranker:
    """Return the ranker of the same concepts in a taxonomy of another shape."""
    anchors, plain = ranker.anchors, ranker.anchors.taxonomy
    above, below = plain.relation_indices
    deprecated: list[int] = []
    if shape == "hub":
        above = np.where(below > 3, 1, above)
    elif shape == "flat":
        above, below = above[:0], below[:0]
    elif shape == "deprecated":
        deprecated = [2, 5, 11]
    taxonomy = Taxonomy.from_columns(
        plain.ids, plain.labels, above, below, plain.synonyms, deprecated=deprecated
    )
    words = AnchorTexts.of(taxonomy, None).words
    assert anchors.texts is not None
    texts = replace(anchors.texts, words=words)
    return Ranker(ranker.network, Anchors(taxonomy, anchors.vectors, 50, chosen, texts))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 9999),
    st.sampled_from(["random", "hub", "flat", "deprecated"]),
    st.sampled_from(VARIANTS),
    st.booleans(),
    st.booleans(),
    fusions,
)
def test_fused_scores_are_the_weighted_features_of_all_pairs(
    seed: int,
    shape: str,
    variant: dict[str, object],
    tower: bool,
    is_part: bool,
    weights: list[float],
) -> None:
    rng = np.random.default_rng(seed)
    plain, queries = fused_case(seed, count=40, tower=tower, **variant)
    chosen = rng.integers(0, 40, 25) if is_part else None
    ranker = shaped(plain, shape, chosen)
    queries = with_mentions(queries, len(ranker.keys), seed)
    fusion = SignalFusion(tuple(weights))
    features = all_features(ranker, queries)
    expected = torch.einsum("f,fnq->nq", torch.tensor(weights), features)
    expected[ranker.deprecated_rows] = -torch.inf
    scores = ranker.with_fusion(fusion).scores(queries)
    torch.testing.assert_close(scores, expected, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", ["random", "hub", "flat", "deprecated"])
def test_the_network_alone_scores_by_match_fusion_head_mentions_and_leaf_bonus(
    shape: str, variant: dict[str, object]
) -> None:
    plain, queries = fused_case(3, count=40, **variant)
    ranker = shaped(plain, shape, None).with_leaf_bonus(1.5)
    queries = with_mentions(queries, 40, 3)
    features = all_features(ranker, queries)
    expected = features[0] if "matching" not in variant else features[0].clone()
    scores = ranker.scores(queries)
    if shape == "deprecated":
        assert torch.isneginf(scores).all(1).nonzero().flatten().tolist() == [2, 5, 11]
    scores[ranker.deprecated_rows] = 0
    bonus = 1.5 * features[list(FEATURES).index("leaf")]
    raw = scores - bonus
    raw[ranker.deprecated_rows] = 0
    expected[ranker.deprecated_rows] = ranker.log_match(torch.zeros(()))
    torch.testing.assert_close(ranker.log_match(raw), expected, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("is_fused", [True, False])
def test_a_ranking_is_the_softmax_of_all_scores(
    monkeypatch: pytest.MonkeyPatch, variant: dict[str, object], is_fused: bool
) -> None:
    monkeypatch.setitem(exact_scores.MAX_PAIRS, "cpu", 64 * 7)
    monkeypatch.setitem(cosine_scores.MAX_PAIRS, "cpu", 50)
    plain, queries = fused_case(4, count=300, **variant)
    fusion = SignalFusion(tuple(np.linspace(-0.3, 0.5, len(FEATURES)).tolist()))
    ranker = shaped(plain, "deprecated", None).with_fusion(fusion if is_fused else None)
    excluded = [np.arange(i, dtype=np.int64) * 9 for i in range(len(queries))]
    log_f = ranker.log_match(ranker.scores(queries))
    log_f[ranker.deprecated_rows] = -torch.inf
    for column, own in enumerate(excluded):
        log_f[own, column] = -torch.inf
    ranking = ranker.rank(queries, 3, 2.0, excluded)
    rows = log_f.topk(3, dim=0).indices
    np.testing.assert_array_equal(ranking.anchors, rows.T.numpy())
    probabilities = log_f.softmax(0).gather(0, rows), (log_f / 2).softmax(0).gather(0, rows)
    np.testing.assert_allclose(ranking.scores, probabilities[0].T.numpy(), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(ranking.tempered, probabilities[1].T.numpy(), rtol=1e-3, atol=1e-6)


def test_what_the_fusion_lacks_is_an_error() -> None:
    plain, queries = fused_case(7)
    ranker = plain.with_fusion(SignalFusion.from_mapping({"name": 1.0}))
    with pytest.raises(ModelError, match="queries were not encoded by the fine-tuned encoder"):
        ranker.scores(replace(queries, tower=None))
    with pytest.raises(ModelError, match="needs the labels of the queries"):
        ranker.scores(replace(queries, concepts=()))
    bare = Anchors(plain.anchors.taxonomy, plain.anchors.vectors, 50)
    with pytest.raises(ModelError, match="needs the texts of the anchors"):
        Ranker(plain.network, bare, fusion=ranker.fusion).scores(queries)
    assert plain.keys.shape[1] == DIMENSION
