from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.config import Config, load_preset
from taxoexpan.network.batch import PaddedShape, TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy


def make_sampler(taxonomy: Taxonomy, seed: int, **settings: object) -> TrainingSampler:
    return TrainingSampler(taxonomy, load_preset("best", **settings), seed)


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared"])
def test_splitting_keeps_the_instances_and_the_egonets(negatives: str) -> None:
    sampler = make_sampler(
        random_taxonomy(4), 0, batch_size=13, num_negatives=6, negative_sampling=negatives
    )
    batch = next(sampler.epoch())
    parts = list(batch.split(4))
    assert [len(part.queries) for part in parts] == [4, 3, 3, 3]
    for name in ("queries", "positives", "own_sibling"):
        whole = torch.cat([getattr(part, name) for part in parts])
        assert torch.equal(whole, getattr(batch, name))
    starts = np.cumsum([0, 4, 3, 3])
    shifted = [
        part.blocked + torch.tensor([[0], [start]])
        for part, start in zip(parts, starts, strict=True)
    ]
    assert sorted(map(tuple, torch.cat(shifted, 1).T.tolist())) == sorted(
        map(tuple, batch.blocked.T.tolist())
    )
    assert all(part.egonets is batch.egonets for part in parts)


CPU = torch.device("cpu")


def small_config(**changes: object) -> Config:
    changes = {"batch_size": 8, "num_negatives": 6, "max_siblings": 3} | changes
    return load_preset("best", dropout=0.0, query_dropout=0.0, **changes)


def first_batch(seed: int, config: Config) -> tuple[TrainingBatch, ConceptVectors]:
    taxonomy = random_taxonomy(seed)
    drawn = torch.randn(2, len(taxonomy), 12, generator=torch.Generator().manual_seed(seed))
    vectors = ConceptVectors.of(drawn / drawn.norm(dim=2, keepdim=True))
    return next(TrainingSampler(taxonomy, config, seed).epoch()), vectors


def loss_and_gradients(
    network: MatchingNetwork, vectors: ConceptVectors, batch: TrainingBatch
) -> list[torch.Tensor]:
    network.zero_grad()
    loss = network.loss(vectors, batch)
    loss.backward()
    grads = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    return [loss.detach(), *grads]


@given(st.integers(0, 10_000), st.sampled_from(["pgat", "pgcn", "gat"]), st.booleans())
@settings(max_examples=12, deadline=None)
def test_padding_changes_neither_the_loss_nor_the_gradients(
    seed: int, propagation: str, with_mentions: bool
) -> None:
    config = small_config(propagation=propagation, use_mentions=with_mentions)
    batch, vectors = first_batch(seed, config)
    if with_mentions:
        row = torch.tensor([[len(batch.egonets.counts) - 1], [0], [1]])
        batch = replace(batch, mentions=row)
    network = MatchingNetwork(config, vectors.dimension)
    network.reset(torch.Generator().manual_seed(0))
    network.train()
    shape = PaddedShape.with_margin(batch)
    buffer = shape.buffer(CPU)
    buffer.fill_(-7)  # what an earlier batch has left there
    shape.fill(buffer, batch)
    exact, padded = (
        loss_and_gradients(network, vectors, each) for each in (batch, shape.view(buffer))
    )
    torch.testing.assert_close(padded, exact, rtol=1e-4, atol=1e-5)


def test_a_buffer_can_be_filled_again_with_a_batch_of_another_size() -> None:
    config = small_config()
    batches = [first_batch(seed, config)[0] for seed in range(20)]
    batches = [batch for batch in batches if len(batch.queries) == config.batch_size]
    largest = max(batches, key=lambda batch: len(batch.egonets.nodes))
    shape = PaddedShape.with_margin(largest)
    fitting = [batch for batch in batches if shape.holds(batch)]
    assert len(fitting) > 1
    reused = shape.buffer(CPU)
    for batch in fitting:
        fresh = shape.buffer(CPU)
        shape.fill(fresh, batch)
        shape.fill(reused, batch)
        assert torch.equal(fresh, reused)


def test_a_shape_holds_its_batch_but_no_larger_and_no_shorter_one() -> None:
    config = small_config()
    batch, _ = first_batch(3, config)
    shape = PaddedShape.with_margin(batch)
    assert shape.holds(batch)
    assert not replace(shape, siblings=len(batch.egonets.sibling_of) - 1).holds(batch)
    assert not replace(shape, anchors=len(batch.egonets.counts)).holds(batch)
    assert not replace(shape, queries=shape.queries + 1).holds(batch)
    assert not shape.holds(replace(batch, negatives=torch.tensor([0, 1])))


@pytest.mark.parametrize("extra", [1, 200])
def test_all_pairs_of_padding_anchors_are_blocked(extra: int) -> None:
    config = small_config()
    batch, _ = first_batch(5, config)
    own = len(batch.egonets.counts)
    needed = PaddedShape.needed_by(batch, own + extra)
    buffer = needed.buffer(CPU)
    needed.fill(buffer, batch)
    blocked = {tuple(pair) for pair in needed.view(buffer).blocked.T.tolist()}
    padding = {(row, column) for row in range(own, own + extra) for column in range(8)}
    assert padding <= blocked
    assert {pair for pair in blocked if pair[0] < own} == {
        tuple(pair) for pair in batch.blocked.T.tolist()
    }
