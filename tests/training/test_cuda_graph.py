from __future__ import annotations

import numpy as np
import pytest
import torch

from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.training.loop import GraphedGradients, can_be_graphed
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


def test_only_shared_negatives_on_a_gpu_are_graphed() -> None:
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert can_be_graphed(load_preset("best"), gpu)
    assert not can_be_graphed(load_preset("best"), cpu)
    assert not can_be_graphed(load_preset("paper"), gpu)
    assert not can_be_graphed(load_preset("best", loss="bce"), gpu)


@needs_gpu
def test_a_graph_computes_the_same_gradients() -> None:
    config = load_preset("best", dropout=0.0, query_dropout=0.0, batch_size=8, num_negatives=16)
    taxonomy = random_taxonomy(1)
    drawn = torch.randn(2, len(taxonomy), 12, device="cuda")
    vectors = ConceptVectors.of(drawn / drawn.norm(dim=2, keepdim=True))
    network = MatchingNetwork(config, 12)
    network.reset(torch.Generator().manual_seed(0))
    network.to("cuda").train()
    graph, compared = GraphedGradients(network, vectors, 8), 0
    for batch in TrainingSampler(taxonomy, config, 0).epoch():
        loss = graph.compute(batch)
        if loss is None:
            continue
        found = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        network.zero_grad(set_to_none=True)
        expected = network.loss(vectors, batch.to(vectors.device))
        expected.backward()
        assert np.isclose(loss.item(), expected.item(), rtol=1e-4)
        exact = [p.grad for p in network.parameters() if p.grad is not None]
        torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-5)
        compared += 1
    assert compared > 1
