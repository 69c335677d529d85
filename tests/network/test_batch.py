from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import random_taxonomy

from taxoexpan.config import load_preset
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.sampling import TrainingSampler


def make_sampler(taxonomy: Taxonomy, seed: int, **settings: object) -> TrainingSampler:
    return TrainingSampler(taxonomy, load_preset("best", **settings), seed)


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared", "all"])
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
