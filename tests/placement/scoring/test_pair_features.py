from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fused_cases import all_features, fused_case

from taxoexpan import Taxonomy
from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import LabelWords
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.network.text_tower import TextTower, anchor_texts
from taxoexpan.placement.scoring import ranking
from taxoexpan.placement.scoring.pair_features import (
    COSINE_SCALE,
    FEATURES,
    NUM_FEATURES,
    AnchorTexts,
    Signal,
)
from taxoexpan.placement.scoring.ranking import Anchors, Ranker
from taxoexpan.placement.scoring.signal_fusion import SignalFusion

NAMES = list(FEATURES)


def slow_features(ranker: Ranker, queries: LabeledQueries, row: int, column: int) -> list[float]:
    """Compute the features of one pair in the most obvious way, in the order of `FEATURES`."""
    anchors, taxonomy = ranker.anchors, ranker.anchors.taxonomy
    assert anchors.texts is not None
    anchor = int(anchors.chosen[row])
    children = [taxonomy.index(child) for child in taxonomy.children(taxonomy.ids[anchor])]
    leaf = not children
    raw = ranker.with_fusion(None).scores(queries)
    log_f = float(ranker.network.match.log_match(raw)[row, column])

    def by_children(own: torch.Tensor, vectors: torch.Tensor) -> list[float]:
        cosines = [float(vectors[child] @ own) for child in children]
        return [max(cosines, default=0.0), sum(cosines) / max(len(cosines), 1)]

    tower = [0.0, 0.0, 0.0]
    if queries.tower is not None:
        own = queries.tower[column]
        assert anchors.texts.as_anchors is not None
        assert anchors.texts.as_queries is not None
        of_anchor = float(anchors.texts.as_anchors[anchor] @ own)
        tower = [of_anchor, *by_children(own, anchors.texts.as_queries)]
    vectors = anchors.vectors
    heads = vectors.heads[vectors.head_of]
    name_query, head_query = queries.vectors[:, column]
    name_nearest, name_mean = by_children(name_query, vectors.names)
    head_nearest, head_mean = by_children(head_query, heads)
    name = float(vectors.names[anchor] @ name_query)
    head = float(heads[anchor] @ head_query)
    cosines = [name, head, name_nearest, head_nearest, name_mean, head_mean]
    words = LabelWords.from_taxonomy(taxonomy)
    shared = words.compare(words.of_queries([queries.concepts[column]]), anchor, anchor + 1)
    return [
        log_f,
        *(COSINE_SCALE * value for value in (*tower, *cosines)),
        float(np.log1p(len(children))),
        float(leaf),
        *shared[:, 0, 0].tolist(),
        log_f * leaf,
        COSINE_SCALE * tower[0] * leaf,
        COSINE_SCALE * name * leaf,
    ]


@pytest.mark.parametrize("block", [7, 2048])
@pytest.mark.parametrize("tower", [True, False])
@pytest.mark.parametrize("chosen", [None, np.array([4, 0, 29, 4, 11])], ids=["all", "chosen"])
def test_all_features_equal_those_of_the_obvious_way(
    monkeypatch: pytest.MonkeyPatch, block: int, tower: bool, chosen: np.ndarray | None
) -> None:
    monkeypatch.setattr(ranking, "FEATURE_PAIRS", block)
    ranker, queries = fused_case(1, queries=4, tower=tower, chosen=chosen)
    features = all_features(ranker, queries)
    assert features.shape == (NUM_FEATURES, 30 if chosen is None else 5, 4)
    for row in range(features.shape[1]):
        for column in range(4):
            expected = slow_features(ranker, queries, row, column)
            np.testing.assert_allclose(
                features[:, row, column].numpy(), expected, rtol=1e-4, atol=1e-4
            )


@pytest.mark.parametrize("variant", [{"matching": "mlp", "fusion_dim": 0}, {"use_mentions": True}])
def test_the_networks_feature_is_log_f_of_its_own_score(variant: dict[str, object]) -> None:
    ranker, queries = fused_case(2, **variant)
    expected = ranker.network.match.log_match(ranker.scores(queries))
    assert torch.allclose(all_features(ranker, queries)[0], expected, atol=1e-5)


def test_features_of_leaves_are_zero_for_anchors_with_children() -> None:
    ranker, queries = fused_case(3)
    features = all_features(ranker, queries)
    taxonomy = ranker.anchors.taxonomy
    is_leaf = torch.tensor([not taxonomy.children(id) for id in taxonomy.ids])
    assert is_leaf.any()
    assert not is_leaf.all()
    for copy, original in (("network", "network"), ("tower", "tower_anchor"), ("name", "name")):
        found = features[NAMES.index(f"leaf_{copy}")]
        assert torch.equal(found[is_leaf], features[NAMES.index(original)][is_leaf])
        assert not found[~is_leaf].any()
    for name in NAMES:
        if "child" in name:
            assert not features[NAMES.index(name)][is_leaf].any(), name
    assert torch.equal(features[NAMES.index("leaf")][:, 0].bool(), is_leaf)


def test_without_a_tower_its_features_are_zero() -> None:
    ranker, queries = fused_case(4, tower=False)
    features = all_features(ranker, queries)
    of_tower = [i for i, name in enumerate(NAMES) if FEATURES[name] == Signal.TOWER]
    assert not features[of_tower].any()
    others = [i for i in range(NUM_FEATURES) if i not in of_tower]
    assert features[others].flatten(1).any(1).all()


def test_the_score_of_a_ranker_is_the_fusion_of_its_features() -> None:
    ranker, queries = fused_case(5)
    fusion = SignalFusion(tuple(np.random.default_rng(0).normal(size=NUM_FEATURES).tolist()))
    scores = ranker.with_fusion(fusion).scores(queries)
    assert torch.allclose(scores, fusion.score(all_features(ranker, queries)), atol=1e-4)
    probabilities = scores.softmax(0)
    ranked = ranker.with_fusion(fusion).rank(queries, 3)
    best, rows = probabilities.topk(3, dim=0)
    np.testing.assert_array_equal(ranked.anchors, rows.T.numpy())
    np.testing.assert_allclose(ranked.scores, best.T.numpy(), rtol=1e-4)
    alone = torch.cat(
        [ranker.with_fusion(fusion).scores(queries[i : i + 1]) for i in range(7)], dim=1
    )
    assert torch.allclose(alone, scores, atol=1e-4)


def test_deprecated_anchors_are_never_suggested() -> None:
    ranker, queries = fused_case(6)
    taxonomy = ranker.anchors.taxonomy
    parents, children = taxonomy.relation_indices
    without = Taxonomy.from_columns(
        taxonomy.ids, taxonomy.labels, parents, children, deprecated=[2, 5]
    )
    anchors = Anchors(without, ranker.anchors.vectors, 50, texts=ranker.anchors.texts)
    fusion = SignalFusion.from_mapping({"name": 1.0, "network": 1.0})
    scores = Ranker(ranker.network, anchors, fusion=fusion).scores(queries)
    assert torch.isinf(scores).nonzero()[:, 0].unique().tolist() == [2, 5]


@pytest.mark.parametrize("seed", range(4))
def test_deprecated_concepts_leave_no_trace_in_the_features_of_others(seed: int) -> None:
    ranker, queries = fused_case(seed)
    anchors, plain = ranker.anchors, ranker.anchors.taxonomy
    columns = plain.ids, plain.labels, *plain.relation_indices, plain.synonyms
    taxonomy = Taxonomy.from_columns(*columns, deprecated=[2, 5, 20, 21, 27])
    active = taxonomy.active_indices
    assert anchors.texts is not None
    whole = replace(anchors.texts, words=LabelWords.from_taxonomy(taxonomy))
    rest = replace(whole.select(active), words=LabelWords.from_taxonomy(taxonomy.active))
    vectors = anchors.vectors.select(torch.from_numpy(active))
    found = all_features(
        Ranker(ranker.network, Anchors(taxonomy, anchors.vectors, 50, texts=whole)), queries
    )
    alone = all_features(
        Ranker(ranker.network, Anchors(taxonomy.active, vectors, 50, texts=rest)), queries
    )
    torch.testing.assert_close(found[:, active], alone, atol=1e-4, rtol=1e-4)
    before = all_features(ranker, queries)
    assert not torch.allclose(before[:, active], alone, atol=1e-2)


def test_missing_texts_and_vectors_are_errors() -> None:
    ranker, queries = fused_case(7)
    with pytest.raises(ModelError, match="queries were not encoded by the fine-tuned encoder"):
        all_features(ranker, replace(queries, tower=None))
    with pytest.raises(ModelError, match="needs the labels of the queries"):
        all_features(ranker, replace(queries, concepts=()))
    bare = Anchors(ranker.anchors.taxonomy, ranker.anchors.vectors, 50)
    with pytest.raises(ModelError, match="needs the texts of the anchors"):
        all_features(Ranker(ranker.network, bare), queries)


def test_texts_of_selected_anchors_are_rows_of_all() -> None:
    ranker, queries = fused_case(8)
    texts, rows = ranker.anchors.texts, np.array([3, 3, 0, 20])
    assert texts is not None
    selected = texts.select(rows)
    assert texts.as_anchors is not None
    assert texts.as_queries is not None
    assert selected.as_anchors is not None
    assert selected.as_queries is not None
    assert torch.equal(selected.as_anchors, texts.as_anchors[rows])
    assert torch.equal(selected.as_queries, texts.as_queries[rows])
    asked = texts.words.of_queries(queries.concepts)
    np.testing.assert_array_equal(
        selected.words.compare(asked, 0, 4), texts.words.compare(asked, 0, 30)[:, rows]
    )
    wordless = AnchorTexts(texts.words).select(rows)
    assert wordless.as_anchors is None
    assert len(wordless.words) == 4


def test_the_texts_of_a_taxonomy_are_encoded_as_anchors_and_as_queries(
    pantry: Path, tiny_transformer: Path
) -> None:
    taxonomy = Taxonomy.read(pantry)
    tower = TextTower(TransformerEncoder(str(tiny_transformer), "cpu").copy_model())
    texts = AnchorTexts.of(taxonomy, tower)
    assert texts.as_anchors is not None
    assert texts.as_queries is not None
    assert torch.equal(texts.as_anchors, tower.encode(anchor_texts(taxonomy)))
    assert torch.equal(texts.as_queries, tower.encode(taxonomy.labels))
    assert AnchorTexts.of(taxonomy, None).as_anchors is None
