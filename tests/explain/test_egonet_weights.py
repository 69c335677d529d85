from __future__ import annotations

import pytest
from random_cases import small_case

from taxoexpan.explain import explain


@pytest.mark.parametrize(
    ("readout", "quirk"),
    [("mean", False), ("weighted", False), ("concat", False), ("concat", True)],
)
def test_weights_of_positions_are_those_of_the_readout(readout: str, quirk: bool) -> None:
    quirks = {"egonet_concat": quirk}
    ranker, queries = small_case(readout=readout, quirks=quirks)
    ranking = ranker.rank(queries, 1)
    taxonomy, weights = ranker.anchors.taxonomy, ranker.network.readout.weights().tolist()
    for anchor, evidence in zip(
        ranking.anchors[:, 0], explain(ranker, queries, ranking), strict=True
    ):
        above = len(taxonomy.parents_of.of(anchor))
        below = min(5, len(taxonomy.children_of.of(anchor)))
        if readout == "concat" and not quirk:
            parts = [float(above > 0), 1.0, float(below > 0)]
        elif readout == "concat":
            nodes = above + 1 + below
            parts = [above / nodes, 1.0, below / nodes]
        else:
            parts = [w * n for w, n in zip(weights, (above, 1, below), strict=True)]
        found = evidence.egonet_weights
        expected = [part / sum(parts) for part in parts]
        assert [found.grandparents, found.anchor, found.siblings] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("propagation", "has_attention"), [("gat", True), ("pgat", True), ("gcn", False)]
)
def test_an_anchor_attends_to_its_parents_and_itself(propagation: str, has_attention: bool) -> None:
    ranker, queries = small_case(propagation=propagation)
    ranker.network.train()
    found = explain(ranker, queries, ranker.rank(queries, 2))
    assert ranker.network.training
    for evidence in found:
        attention = evidence.egonet_weights.attention
        parent = evidence.first.parent.id
        expected = {parent, *ranker.anchors.taxonomy.parents(parent)} if has_attention else set()
        assert {each.concept.id for each in attention} == expected
        if has_attention:
            assert sum(each.weight for each in attention) == pytest.approx(1, abs=1e-5)
