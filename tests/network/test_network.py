from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from hypothesis import given, settings
from hypothesis import strategies as st
from network.reference import anchor_embedding, double_precision, egonet_in, egonet_of, score

from taxoexpan.configuration import load_preset
from taxoexpan.egonets import Egonets
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.placement import Placement, anchor_egonets, encode_anchors
from taxoexpan.supervision import Supervision
from taxoexpan.taxonomy import Taxonomy

SIZE = 6


def random_case(seed: int, fusion: int) -> tuple[Taxonomy, MatchingNetwork, torch.Tensor]:
    """A random taxonomy, a network with every weight drawn, and unit vectors [2, N, 6]."""
    taxonomy = random_taxonomy(seed, count=4 + seed % 8, most_parents=2)
    sizes = {"hidden": 3, "heads": 2, "output": 4, "position": 2, "fusion": fusion}
    network = MatchingNetwork(load_preset("best", **sizes), SIZE).eval()
    drawn = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data.normal_(generator=drawn)
    vectors = torch.randn(2, len(taxonomy), SIZE, generator=drawn)
    return taxonomy, network, vectors / vectors.norm(dim=2, keepdim=True)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_batched_encoding_equals_the_equations_node_by_node(seed: int) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(seed, fusion=0)
        egonets = anchor_egonets(taxonomy, np.arange(len(taxonomy)), 50)
        keys = network.encode(vectors[0][egonets.concepts], egonets)
        for anchor in range(len(taxonomy)):
            slow = anchor_embedding(network, vectors[0], egonet_of(taxonomy, anchor))
            torch.testing.assert_close(keys[anchor], slow @ network.match.weight)


@pytest.mark.parametrize(("siblings", "childless"), [(50, 0.0), (2, 0.4)])
@pytest.mark.parametrize("fusion", [0, 5])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_loss_and_gradient_equal_infonce_pair_by_pair(
    fusion: int, siblings: int, childless: float, seed: int
) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(seed, fusion)
        shape = {"batch_size": 64, "negatives": 5, "siblings": siblings, "childless": childless}
        supervision = Supervision(taxonomy, load_preset("best", **shape), seed)
        batch = next(supervision.epoch())
        fast = network.loss(vectors, batch)
        fast_gradient = torch.autograd.grad(fast, list(network.parameters()), allow_unused=True)
        anchors = sorted({int(a) for a in batch.egonets.concepts[anchor_nodes(batch.egonets)]})
        losses = []
        for query, place in zip(batch.queries.tolist(), batch.positives.tolist(), strict=True):
            parents = set(taxonomy.parents_of.of(query).tolist())
            below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
            negatives = [a for a in anchors if a not in parents | below | {query}]
            asked = vectors[:, query]
            own = egonet_in(batch.egonets, place, without=query)
            others = [egonet_in(batch.egonets, anchors.index(a)) for a in negatives]
            scores = [score(network, vectors, egonet, asked) for egonet in (own, *others)]
            losses.append(-torch.log_softmax(torch.stack(scores), 0)[0])
        slow = torch.stack(losses).mean()
        slow_gradient = torch.autograd.grad(slow, list(network.parameters()), allow_unused=True)
        torch.testing.assert_close(fast, slow)
        for one, other in zip(fast_gradient, slow_gradient, strict=True):
            if one is not None or other is not None:
                zero = torch.zeros_like(one if one is not None else other)
                torch.testing.assert_close(
                    one if one is not None else zero, other if other is not None else zero
                )


@pytest.mark.parametrize("fusion", [0, 5])
def test_placement_scores_every_pair_as_the_equations_do(fusion: int) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(3, fusion)
        queries = torch.nn.functional.normalize(torch.randn(2, 3, SIZE), dim=2)
        keys = encode_anchors(network, taxonomy, vectors, 50)
        scores = Placement(network, taxonomy, vectors, keys).scores(queries)
        for anchor in range(len(taxonomy)):
            for q in range(3):
                slow = score(network, vectors, egonet_of(taxonomy, anchor), queries[:, q])
                torch.testing.assert_close(scores[anchor, q], slow.detach())


def test_dropout_keeps_the_mean_and_drops_the_share() -> None:
    _, network, _ = random_case(0, fusion=0)
    network.train()
    torch.manual_seed(0)
    ones = torch.ones(400, 500)
    dropped = network._drop(ones, 0.25)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert network.eval()._drop(ones, 0.25) is ones


def anchor_nodes(egonets: Egonets) -> torch.Tensor:
    return egonets.nodes.split(egonets.sizes)[1]
