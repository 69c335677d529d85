"""The fast scores and features of all anchors equal the naive ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taxoexpan.errors import ModelError
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring import pair_features, scorer
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, Signal, SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from tests.support.fused_cases import fused_case, random_fusion, with_mentions
from tests.support.naive_scores import naive_features, naive_scores
from tests.support.reference_network import double_precision

VARIANTS: tuple[dict[str, object], ...] = (
    {},
    {"hidden_dim": 1},
    {"matching": "mlp"},
    {"matching": "mlp", "quirks": {"mlp_relu": True}},
    {"quirks": {"double_exp": True}},
    {"use_mentions": True},
    {"use_mentions": True, "matching": "mlp"},
)
SHAPES = ("random", "hub", "flat", "deprecated")
COUNT = 12
EXACTLY = {"rtol": 1e-6, "atol": 1e-6}
"""In double precision; the features of words are float32 numbers."""
fusions = st.lists(
    st.one_of(st.just(0.0), st.floats(-1, 1)),
    min_size=len(PAIR_FEATURES),
    max_size=len(PAIR_FEATURES),
)


def shaped(ranker: Ranker, shape: str, chosen: np.ndarray | None = None) -> Ranker:
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
    assert anchors.texts is not None
    texts = replace(anchors.texts, words=AnchorTexts.of(taxonomy, None).words)
    return Ranker(ranker.network, Anchors(taxonomy, anchors.vectors, 50, chosen, texts))


def case(
    seed: int, shape: str, variant: dict[str, object], tower: bool = True, is_part: bool = False
) -> tuple[Ranker, Queries]:
    plain, queries = fused_case(seed, count=COUNT, queries=2, tower=tower, **variant)
    chosen = np.random.default_rng(seed).integers(0, COUNT, 9) if is_part else None
    ranker = shaped(plain, shape, chosen)
    return ranker, with_mentions(queries, len(ranker.keys))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 9999),
    st.sampled_from(SHAPES),
    st.sampled_from(VARIANTS),
    st.booleans(),
    st.booleans(),
    fusions,
)
@example(1, "random", {"matching": "mlp"}, True, False, [0.5] * len(PAIR_FEATURES))
def test_fused_scores_equal_the_naive_ones(
    seed: int,
    shape: str,
    variant: dict[str, object],
    tower: bool,
    is_part: bool,
    weights: list[float],
) -> None:
    with double_precision(), torch.no_grad():
        ranker, queries = case(seed, shape, variant, tower, is_part)
        fused = ranker.with_fusion(SignalFusion(tuple(weights)))
        torch.testing.assert_close(fused.scores(queries), naive_scores(fused, queries), **EXACTLY)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_of_the_network_alone_equal_the_naive_ones(
    shape: str, variant: dict[str, object]
) -> None:
    with double_precision(), torch.no_grad():
        ranker, queries = case(3, shape, variant)
        scores = ranker.scores(queries)
        torch.testing.assert_close(scores, naive_scores(ranker, queries), **EXACTLY)
    barred = torch.isneginf(scores).all(1).nonzero().flatten().tolist()
    assert barred == ([2, 5, 11] if shape == "deprecated" else [])


@pytest.mark.parametrize("block", [7, 2048])
@pytest.mark.parametrize("tower", [True, False])
@pytest.mark.parametrize("is_part", [True, False])
@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[1], VARIANTS[-1]])
def test_features_equal_the_naive_ones(
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    tower: bool,
    is_part: bool,
    variant: dict[str, object],
) -> None:
    monkeypatch.setitem(scorer.FEATURE_PAIRS, "cpu", block)
    with double_precision(), torch.no_grad():
        ranker, queries = case(1, "deprecated", variant, tower, is_part)
        features = ranker.features(queries)
        torch.testing.assert_close(features, naive_features(ranker, queries), **EXACTLY)


@pytest.mark.parametrize("tower", [True, False])
def test_only_the_features_of_a_missing_tower_are_zero(tower: bool) -> None:
    ranker, queries = fused_case(4, tower=tower)
    is_zero = [not values.any() for values in ranker.features(queries)]
    assert is_zero == [not tower and each.signal == Signal.TOWER for each in PAIR_FEATURES.values()]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("is_fused", [True, False])
def test_a_ranking_is_the_softmax_of_all_scores(
    monkeypatch: pytest.MonkeyPatch, variant: dict[str, object], is_fused: bool
) -> None:
    monkeypatch.setitem(scorer.MAX_PAIRS_BY_DEVICE, "cpu", 64 * 7)
    monkeypatch.setitem(pair_features.MAX_PAIRS_BY_DEVICE, "cpu", 50)
    plain, queries = fused_case(4, count=300, **variant)
    fusion = SignalFusion(tuple(np.linspace(-0.3, 0.5, len(PAIR_FEATURES)).tolist()))
    ranker = shaped(plain, "deprecated").with_fusion(fusion if is_fused else None)
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


def test_a_query_scores_the_same_alone_and_in_a_block() -> None:
    plain, queries = fused_case(5)
    ranker = plain.with_fusion(random_fusion(0))
    alone = [ranker.scores(queries[i : i + 1]) for i in range(len(queries))]
    torch.testing.assert_close(torch.cat(alone, 1), ranker.scores(queries), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_deprecated_concepts_leave_no_trace_in_the_features_of_others(seed: int) -> None:
    ranker, queries = fused_case(seed)
    anchors, plain = ranker.anchors, ranker.anchors.taxonomy
    columns = plain.ids, plain.labels, *plain.relation_indices, plain.synonyms
    taxonomy = Taxonomy.from_columns(*columns, deprecated=[2, 5, 20, 21, 27])
    active = taxonomy.active_indices
    assert anchors.texts is not None
    whole = replace(anchors.texts, words=AnchorTexts.of(taxonomy, None).words)
    rest = replace(whole.select(active), words=AnchorTexts.of(taxonomy.active, None).words)
    vectors = anchors.vectors.select(torch.from_numpy(active))
    of_whole = Ranker(ranker.network, Anchors(taxonomy, anchors.vectors, 50, texts=whole))
    of_rest = Ranker(ranker.network, Anchors(taxonomy.active, vectors, 50, texts=rest))
    alone = of_rest.features(queries)
    torch.testing.assert_close(of_whole.features(queries)[:, active], alone, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(ranker.features(queries)[:, active], alone, atol=1e-2)
    scores = [each.with_fusion(random_fusion(seed)).scores(queries) for each in (of_whole, of_rest)]
    torch.testing.assert_close(scores[0][active], scores[1], atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("compute", [Ranker.scores, Ranker.features])
def test_missing_texts_and_vectors_are_errors(compute: type) -> None:
    plain, queries = fused_case(7)
    ranker = plain.with_fusion(SignalFusion.from_mapping({"name": 1.0}))
    with pytest.raises(ModelError, match="encoder"):
        compute(ranker, replace(queries, tower=None))
    with pytest.raises(ModelError, match="labels of the queries"):
        compute(ranker, replace(queries, concepts=()))
    bare = Anchors(plain.anchors.taxonomy, plain.anchors.vectors, 50)
    with pytest.raises(ModelError, match="texts of the anchors"):
        compute(Ranker(plain.network, bare, fusion=ranker.fusion), queries)
