from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from reproduction.baselines.networks import (
    DeepSetMLP,
    DeepSetNetwork,
    NetworkMethod,
    ParentMLP,
    ParentNetwork,
)
from taxoexpan.config import Config, load_preset
from taxoexpan.evaluation.methods import Problem
from taxoexpan.evaluation.results import true_ranks_by
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries, Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.log import SILENT
from taxoexpan.training.metrics import compute_metrics
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy, star

SIZE = 6
NETWORKS = [ParentNetwork, DeepSetNetwork]
NEGATIVES = ["sampled", "uniform", "shared"]


def settings(**changes: str | float) -> Config:
    small = {"hidden_dim": 16, "batch_size": 16, "num_negatives": 8, "dropout": 0.0, **changes}
    return load_preset("paper", **small)


def new_network(kind: type[ParentNetwork], config: Config) -> ParentNetwork:
    network = kind(config, SIZE).double()
    generator = torch.Generator().manual_seed(0)
    network.reset(generator)
    for parameter in network.parameters():  # biases too, which are initialized to zero
        torch.nn.init.normal_(parameter, generator=generator)
    return network


def new_vectors(count: int) -> ConceptVectors:
    drawn = torch.randn(2, count, SIZE, generator=torch.Generator().manual_seed(1)).double()
    return ConceptVectors.of(F.normalize(drawn, dim=2))


def plain_score(network: ParentNetwork, query: Tensor, anchor: Tensor, children: Tensor) -> Tensor:
    """The MLP on the concatenation of all inputs."""
    parts = [query, anchor]
    if isinstance(network, DeepSetNetwork):
        each = [F.relu(network.phi(child)) for child in children]
        mean = torch.stack(each).mean(0) if each else torch.zeros(16).double()
        parts.append(F.relu(network.rho(mean)))
    match = network.match
    first = torch.cat([match.query_weight, match.anchor_weight], dim=1)
    hidden = F.relu(first @ torch.cat(parts) + match.hidden_bias)
    return match.output[0] @ hidden + match.bias


def shown_children(batch: TrainingBatch, anchor: int) -> list[int]:
    """The children in one egonet of a batch."""
    e = batch.egonets
    rows = e.nodes[sum(e.sizes[:2]) :][e.sibling_of == anchor]
    return [int(child) for child in e.concepts[rows]]


def plain_loss(network: ParentNetwork, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
    """InfoNCE instance by instance, and pair by pair."""
    e, names = batch.egonets, vectors.names
    anchors = e.concepts[e.nodes[e.sizes[0] : sum(e.sizes[:2])]].tolist()
    blocked = set(map(tuple, batch.blocked.T.tolist()))

    def score(query: int, place: int, children: Sequence[int]) -> Tensor:
        return plain_score(network, names[query], names[anchors[place]], names[list(children)])

    losses = []
    for b, query in enumerate(batch.queries.tolist()):
        place = int(batch.positives[b])
        others = [child for child in shown_children(batch, place) if child != query]
        scores = [score(query, place, others)]
        drawn = torch.arange(len(anchors)) if batch.negatives is None else batch.negatives
        tried = (drawn if drawn.dim() == 1 else drawn[:, b]).tolist()
        scores += [
            score(query, anchor, shown_children(batch, anchor))
            for row, anchor in enumerate(tried)
            if (row, b) not in blocked
        ]
        losses.append(-torch.stack(scores).log_softmax(0)[0])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("kind", NETWORKS)
def test_all_pairs_score_as_the_plain_mlp_on_each(
    kind: type[ParentNetwork], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A few anchors at a time.
    monkeypatch.setattr("taxoexpan.network.matching.MAX_HIDDEN_UNITS", 200)
    taxonomy, vectors = random_taxonomy(3), new_vectors(30)
    network, queries = new_network(kind, settings()), new_vectors(4).names
    anchors = Anchors(taxonomy, vectors, 50)
    both = torch.stack([queries, torch.zeros_like(queries)])
    scores = Ranker(network, anchors).scores(Queries(both))
    assert scores.shape == (30, 4)
    for place, id in enumerate(taxonomy):
        children = vectors.names[[taxonomy.index(child) for child in taxonomy.children(id)]]
        for column, query in enumerate(queries):
            slow = plain_score(network, query, vectors.names[place], children)
            torch.testing.assert_close(scores[place, column], slow.detach())


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("negatives", NEGATIVES)
def test_the_loss_is_infonce_with_the_query_taken_out_of_its_parents_children(
    kind: type[ParentNetwork], negatives: str
) -> None:
    c = settings(negative_sampling=negatives, max_siblings=3)
    network, vectors = new_network(kind, c), new_vectors(30)
    batch = next(TrainingSampler(random_taxonomy(3), c, 0).epoch())
    assert (batch.own_sibling >= 0).any()
    assert (batch.own_sibling < 0).any()  # of more than three children not all are shown
    torch.testing.assert_close(
        network.loss(vectors, batch), plain_loss(network, vectors, batch), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("loss", ["infonce", "bce"])
@pytest.mark.parametrize("negatives", NEGATIVES)
def test_all_weights_have_finite_gradients(
    kind: type[ParentNetwork], loss: str, negatives: str
) -> None:
    c = settings(negative_sampling=negatives, loss=loss, dropout=0.1, query_dropout=0.1)
    network, vectors = new_network(kind, c), new_vectors(30)
    network.loss(vectors, next(TrainingSampler(random_taxonomy(3), c, 0).epoch())).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # A softmax cancels the last bias, which is added to all scores.
        assert parameter.grad.any() or name == "match.bias", name


def test_a_batch_of_egonets_without_children_is_learned_from() -> None:
    c = settings(hide_children_rate=0.99)
    network, vectors = new_network(DeepSetNetwork, c), new_vectors(4)
    batch = next(TrainingSampler(star(3), c, 0).epoch())
    assert not len(batch.egonets.sibling_of)
    torch.testing.assert_close(network.loss(vectors, batch), plain_loss(network, vectors, batch))


def clustered(clusters: int = 12, leaves: int = 10) -> tuple[Problem, LabeledQueries]:
    """Leaves around their parents; the last two of each parent are held out."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(clusters, SIZE * 2))
    around = centres[:, None] + 0.4 * generator.normal(size=(clusters, leaves + 2, SIZE * 2))
    known = np.concatenate([np.zeros((1, SIZE * 2)), centres, *around[:, :leaves]])
    names = [f"c{i}" for i in range(len(known))]
    inner = np.arange(1, clusters + 1)
    parents = np.concatenate([np.zeros(clusters, np.int64), np.repeat(inner, leaves)])
    taxonomy = Taxonomy.from_columns(names, names, parents, np.arange(1, len(known)))
    validation, test = (
        LabeledQueries(both(around[:, leaves + last]), parents=[np.array([p]) for p in inner])
        for last in (0, 1)
    )
    return Problem(taxonomy, both(known), validation), test


def both(vectors: np.ndarray) -> Tensor:
    """The same vectors at unit length for names and for head words."""
    names = F.normalize(torch.from_numpy(vectors).float(), dim=1)
    return names.expand(2, -1, -1)


@pytest.mark.parametrize("kind", [ParentMLP, DeepSetMLP])
def test_held_out_leaves_find_their_parents(kind: type[NetworkMethod]) -> None:
    problem, test = clustered()
    changes = {"hidden_dim": 32, "batch_size": 32, "learning_rate": 0.01, "epochs": 20}
    method = kind(**changes)
    history = method.fit(problem, 0, SILENT)
    assert history.epochs[-1].loss < history.epochs[0].loss / 2
    figures = compute_metrics(true_ranks_by(method, test, len(problem.taxonomy)))
    assert figures.mr < 5  # of 133; by chance it would be 67
    assert figures.hit_at_3 > 0.6


@pytest.mark.parametrize("kind", [ParentMLP, DeepSetMLP])
def test_the_same_seed_gives_the_same_scores_bit_for_bit(kind: type[NetworkMethod]) -> None:
    problem, test = clustered()
    scores = []
    for seed in (0, 0, 1):
        method = kind(hidden_dim=64, epochs=2)
        method.fit(problem, seed, SILENT)
        scores.append(method.score(test))
    one, same, other = scores
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_the_papers_settings_are_used_except_for_the_hidden_layer() -> None:
    assert ParentMLP().config == load_preset("paper", hidden_dim=500)
    assert DeepSetMLP("best", hidden_dim=8).config == load_preset("best", hidden_dim=8)
