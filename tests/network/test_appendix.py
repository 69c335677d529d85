r"""The appendix of the paper: the optimum of InfoNCE, tested where P(a | n) is known.

Eq. 12 says that training makes f(a, n) proportional to P(a | n) / P(a), P(a) being what negatives
are drawn from. For negatives drawn from any q(a) the proof gives

.. math:: \log f(a, n) = \log P(a | n) - \log q(a) + c(n)

The loss compares anchors of one query only, so c(n) is free: "up to a constant" means one for each
query, not one for all pairs. Scores are therefore centred by query before they are correlated.
What they say depends on q:

- q(a) = P(a), the marginal (an anchor as often as it is a parent): the density ratio
  log P(a | n) / P(a). By Bayes it ranks anchors by P(n | a), as Eq. 13 wants it.
- q uniform: log P(a | n), whose softmax over all anchors is P(a | n) itself. The appendix calls its
  P(a) uniform, and `TrainingSampler` draws uniformly too, so this is the case of our training.
  It is what Eq. 13 wants only where all anchors are equally frequent parents.

Nothing is blocked here, because the proof's negatives do not depend on the positive and may be the
same anchor. `TrainingSampler` blocks parents and descendants, and where negatives are shared, the
parents of a batch are among them too; of that the proof says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from taxoexpan.config import load_preset
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching import MATCHES
from taxoexpan.network.matching_network import LogMatch, MatchingNetwork, info_nce
from taxoexpan.placement.scoring.anchors import anchor_egonets
from taxoexpan.taxonomy import Taxonomy

ANCHORS, QUERIES, RELATIONS, SIZE = 12, 20, 100, 32
NEGATIVES, BATCH, EPOCHS, RATE = 8, 500, 40, 0.04
NOTHING = torch.zeros(2, 0, dtype=torch.long)
"""No pair is blocked."""


@dataclass(frozen=True)
class World:
    """Counts [A, Q] of how often each anchor is the parent of each query; all columns sum alike.

    P(a | n) is exact, since an epoch has every relation once. Negatives are drawn from a pool, a
    list of anchors in which frequent anchors occur more often.
    """

    counts: Tensor

    @property
    def queries(self) -> Tensor:
        """The query of every relation [R]."""
        return torch.arange(self.counts.shape[1]).repeat_interleave(self.counts.sum(0))

    @property
    def marginal(self) -> Tensor:
        """The anchor of every relation [R], which as a pool is P(a)."""
        anchors = torch.arange(len(self.counts))
        return torch.cat([anchors.repeat_interleave(column) for column in self.counts.T])

    @property
    def uniform(self) -> Tensor:
        """The pool with every anchor once [A]."""
        return torch.arange(len(self.counts))

    @property
    def given(self) -> Tensor:
        """P(a | n) [A, Q]."""
        return self.counts / self.counts.sum(0)

    def optimum(self, pool: Tensor) -> Tensor:
        """Log P(a | n) / q(a) [A, Q] for negatives from this pool, without c(n)."""
        return self.given.log() - log_share(pool)


def log_share(pool: Tensor) -> Tensor:
    """Log q(a) of a pool [A, 1]."""
    return (torch.bincount(pool) / len(pool)).log()[:, None]


def peaked_world(seed: int) -> World:
    """Return a world with popular anchors and with queries of unequal certainty.

    No pair is rarer than 2 %. Popularity makes the two optima differ; unequal certainty makes c(n)
    differ between queries.
    """
    generator = torch.Generator().manual_seed(seed)
    popularity = torch.linspace(-1.5, 1.5, ANCHORS)[:, None]
    certainty = torch.linspace(0.3, 2.5, QUERIES)
    logits = popularity + certainty * torch.randn(ANCHORS, QUERIES, generator=generator)
    counts = 2 + ((RELATIONS - 2 * ANCHORS) * logits.softmax(0)).long()
    counts[logits.argmax(0), torch.arange(QUERIES)] += RELATIONS - counts.sum(0)
    return World(counts)


def centred(table: Tensor) -> Tensor:
    """Remove c(n), the constant of each query, from a table [A, Q]."""
    return table - table.mean(0)


def correlation(one: Tensor, other: Tensor) -> float:
    """Return Pearson's correlation over all pairs."""
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])


def mean_loss(log_match: LogMatch, positive: Tensor, scores: Tensor) -> Tensor:
    """Return the mean InfoNCE over instances without blocked negatives."""
    total, instances = info_nce(log_match, positive, scores, NOTHING)
    return total / instances


def inverse_log_sigmoid(logarithm: Tensor) -> Tensor:
    """Return the logit of a sigmoid with this logarithm."""
    return logarithm - (-logarithm.exp()).log1p()


@pytest.mark.parametrize(
    ("matching", "raw_of"), [("bilinear", torch.clone), ("mlp", inverse_log_sigmoid)]
)
def test_the_density_ratio_is_the_exact_optimum(
    matching: str, raw_of: Callable[[Tensor], Tensor]
) -> None:
    """The gradient over all possible instances with two negatives is zero.

    The loss is convex in log f, so this is the minimum. The f of Eq. 9 is below 1, which low c(n)
    ensure.
    """
    world = World(torch.tensor([[3, 2, 1], [1, 1, 3], [1, 1, 1], [1, 2, 1]]))
    log_match = MATCHES[matching](1, 1, 1, 1).log_match

    def loss_and_slope(log_f: Tensor, pool: Tensor) -> tuple[float, float]:
        raw = raw_of(log_f.double()).requires_grad_()
        relation, first, second = torch.cartesian_prod(torch.arange(18), pool, pool).T
        queries = world.queries[relation]
        positive = raw[world.marginal[relation], queries]
        loss = mean_loss(log_match, positive, raw[torch.stack([first, second]), queries])
        (gradient,) = torch.autograd.grad(loss, raw)
        return loss.item(), gradient.abs().max().item()

    constants, others = torch.tensor([-3.0, -2.0, -4.0]), torch.tensor([-2.0, -5.0, -3.0])
    for pool, wrong_pool in ((world.marginal, world.uniform), (world.uniform, world.marginal)):
        loss, slope = loss_and_slope(world.optimum(pool) + constants, pool)
        assert slope < 1e-6
        assert loss_and_slope(world.optimum(pool) + others, pool)[0] == pytest.approx(loss)
        worse, slope = loss_and_slope(world.optimum(wrong_pool) + constants, pool)
        assert worse > loss + 1e-3
        assert slope > 1e-3


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Use one thread: the tensors are so small that threads would mostly wait."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Case(Protocol):
    """A trainable model whose log f can be inspected."""

    @property
    def module(self) -> nn.Module:
        """Return the module with the weights."""

    def loss(self, queries: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """InfoNCE of queries [B] with their positives [B] and negatives [N, B]."""

    def log_f(self) -> Tensor:
        """Log f of all pairs [A, Q]."""


def fixed_vectors(generator: torch.Generator) -> Tensor:
    """Random vectors [2, A + Q, D1], in more dimensions than there are anchors or queries."""
    vectors = torch.randn(2, ANCHORS + QUERIES, SIZE, generator=generator)
    return 3 * nn.functional.normalize(vectors, dim=2)


class MatchAlone:
    """A match between fixed embeddings."""

    def __init__(self, matching: str, generator: torch.Generator) -> None:
        self.anchors, self.queries = fixed_vectors(generator)[0].split([ANCHORS, QUERIES])
        self.module = MATCHES[matching](1, SIZE, SIZE, hidden=64)
        self.module.reset(generator)

    def loss(self, queries: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        match = self.module
        left = match.training_keys(self.anchors, torch.eye(SIZE))
        right = match.project_training_queries(self.queries, torch.eye(SIZE))
        positive = match.score_pairs(left[positives], right[queries])
        scores = match.score_all(left, right)[negatives, queries]
        return mean_loss(match.log_match, positive, scores)

    @torch.no_grad()
    def log_f(self) -> Tensor:
        match = self.module
        keys = match.keys(self.anchors, torch.eye(SIZE))
        return match.log_match(match.score_all(keys, match.project_queries(self.queries)))


class WholeNetwork:
    """The paper's model, smaller: a binary tree of anchors, queries that are not in it."""

    def __init__(self, generator: torch.Generator) -> None:
        names, children = [f"c{i}" for i in range(ANCHORS)], np.arange(1, ANCHORS)
        taxonomy = Taxonomy.from_columns(names, names, (children - 1) // 2, children)
        self.egonets = anchor_egonets(taxonomy, np.arange(ANCHORS), ANCHORS)
        self.vectors = fixed_vectors(generator)
        # With dropout, the vectors could not represent the table.
        sizes = {
            "hidden_dim": 16,
            "num_heads": 2,
            "embedding_dim": SIZE,
            "position_dim": 4,
            "dropout": 0.0,
        }
        self.module = MatchingNetwork(load_preset("paper", **sizes), SIZE)
        self.module.reset(generator)

    def loss(self, queries: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        batch = TrainingBatch(
            queries=ANCHORS + queries,
            egonets=self.egonets,
            positives=positives,
            own_sibling=torch.full_like(positives, -1),
            blocked=NOTHING,
            negatives=negatives,
        )
        return self.module.loss(ConceptVectors.of(self.vectors), batch)

    @torch.no_grad()
    def log_f(self) -> Tensor:
        keys = self.module.encode(self.vectors[0][self.egonets.concepts], self.egonets)
        match = self.module.match
        projected = self.module.project_queries(self.vectors[0, ANCHORS:], keys)
        return match.log_match(match.score_all(keys, projected))


def train(case: Case, world: World, pool: Tensor, generator: torch.Generator) -> None:
    """Train by Adam on shuffled relations; the steps shrink to zero, so that noise averages out."""
    queries, parents = world.queries, world.marginal
    optimizer = torch.optim.Adam(case.module.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(queries) // BATCH)
    for _ in range(EPOCHS):
        for relations in torch.randperm(len(queries), generator=generator).split(BATCH):
            drawn = torch.randint(len(pool), (NEGATIVES, BATCH), generator=generator)
            loss = case.loss(queries[relations], parents[relations], pool[drawn])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda generator: MatchAlone("bilinear", generator), id="bilinear"),
        pytest.param(lambda generator: MatchAlone("mlp", generator), id="mlp"),
        pytest.param(WholeNetwork, id="network"),
    ],
)
def test_training_recovers_the_density_ratio(
    build: Callable[[torch.Generator], Case],
) -> None:
    """With negatives from P(a) log f is log P(a | n) / P(a), with uniform ones log P(a | n).

    Both up to c(n). Neither fits the other's optimum, nor its own if c(n) is not taken out.
    """
    world = peaked_world(0)
    by_ratio, by_share = world.optimum(world.marginal), world.optimum(world.uniform)
    assert correlation(centred(by_ratio), centred(by_share)) < 0.8
    for pool, own, other in (
        (world.marginal, by_ratio, by_share),
        (world.uniform, by_share, by_ratio),
    ):
        generator = torch.Generator().manual_seed(1)
        case = build(generator)
        untrained = correlation(centred(case.log_f()), centred(own))
        train(case, world, pool, generator)
        log_f = case.log_f()
        trained = correlation(centred(log_f), centred(own))
        assert abs(untrained) < 0.5
        assert trained >= 0.98
        assert correlation(centred(log_f), centred(other)) < 0.8
        assert correlation(log_f, own) < trained - 0.03
        # Correlation ignores the scale: f q, normalized to sum to 1, must be P(a | n) itself.
        shares = (log_f + log_share(pool)).softmax(0)
        assert (shares - world.given).abs().mean() < 0.01
