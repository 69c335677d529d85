from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import random_taxonomy, star
from per_egonet_network import PlainBatch, PlainNetwork, plain_batch, plain_step_maker
from reference_network import double_precision

from taxoexpan.config import Config, load_preset
from taxoexpan.errors import ConfigurationError
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.sampling import TrainingSampler

SIZE = 6


def configured(**changes: object) -> Config:
    small = {
        "hidden_dim": 3,
        "num_heads": 2,
        "embedding_dim": 4,
        "position_dim": 2,
        "batch_size": 16,
        "num_negatives": 7,
    }
    return load_preset("paper", **{**small, **changes})


def drawn_network(config: Config, seed: int) -> MatchingNetwork:
    """A network with every weight drawn, the zeros of its readout too."""
    network = MatchingNetwork(config, SIZE)
    drawn = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data.normal_(generator=drawn)
    return network


def unit_vectors(taxonomy: Taxonomy, seed: int) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(
        torch.randn(2, len(taxonomy), SIZE, generator=drawn), dim=2
    )


def the_same_draws(taxonomy: Taxonomy, batch: TrainingBatch, siblings: int) -> PlainBatch:
    """Our batch's queries, parents and negatives, built separately."""
    egonets = batch.egonets
    anchors = egonets.concepts[egonets.nodes.split(egonets.sizes)[1]].numpy()
    assert batch.negatives is not None
    return plain_batch(
        taxonomy,
        batch.queries.numpy(),
        anchors[batch.positives.numpy()],
        anchors[batch.negatives.numpy().T],
        siblings,
        np.random.default_rng(0),
    )


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"num_layers": 0},
        {"num_layers": 2},
        {"num_output_heads": 3},
        {"num_layers": 3, "num_output_heads": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(5))
def test_the_loss_and_its_gradient_equal_those_of_the_package(
    variant: dict[str, int], seed: int
) -> None:
    with double_precision():
        config = configured(dropout=0.0, **variant)
        taxonomy = random_taxonomy(seed, count=8 + 7 * seed)
        assert taxonomy.children_of.degrees.max() <= config.max_siblings
        network, vectors = drawn_network(config, seed), unit_vectors(taxonomy, seed)
        plain, parameters = PlainNetwork(network), list(network.parameters())
        for ours in TrainingSampler(taxonomy, config, seed).epoch():
            theirs = the_same_draws(taxonomy, ours, config.max_siblings)
            assert theirs.egonets == len(ours.queries) * (1 + config.num_negatives)
            assert torch.equal(torch.stack(torch.where(theirs.blocked.T)), ours.blocked)
            losses = network.loss(ConceptVectors.of(vectors), ours), plain.loss(vectors, theirs)
            torch.testing.assert_close(*losses)
            gradients = [torch.autograd.grad(loss, parameters) for loss in losses]
            for one, other in zip(*gradients, strict=True):
                torch.testing.assert_close(one, other)


def test_every_egonet_is_a_separate_star_without_the_query() -> None:
    taxonomy, most = random_taxonomy(2, count=40), 3
    assert taxonomy.children_of.degrees.max() > most
    parents, children = taxonomy.relation_indices
    negatives = np.random.default_rng(0).integers(0, len(taxonomy), (len(parents), 4))
    batch = plain_batch(taxonomy, children, parents, negatives, most, np.random.default_rng(0))
    anchors = np.concatenate([parents[:, None], negatives], axis=1).ravel()
    for egonet, anchor in enumerate(anchors):
        query = children[egonet // 5] if egonet % 5 == 0 else None
        above, middle, below = (nodes_at(batch, egonet, position) for position in range(3))
        assert [batch.nodes[i] for i in middle] == [anchor]
        assert [int(batch.nodes[i]) for i in above] == taxonomy.parents_of.of(anchor).tolist()
        family, shown = taxonomy.children_of.of(anchor), {int(batch.nodes[i]) for i in below}
        assert shown <= set(family.tolist()) - {query}
        # The query may have been among those drawn.
        fewest = min(len(family), most) - (query is not None)
        assert fewest <= len(shown) == len(below) <= most
        assert edges_of(batch, egonet) == sorted(
            [(i, middle[0]) for i in above]
            + [(middle[0], i) for i in below]
            + [(i, i) for i in (*above, *middle, *below)]
        )


def nodes_at(batch: PlainBatch, egonet: int, position: int) -> list[int]:
    there = (batch.egonet_of == egonet) & (batch.positions == position)
    return torch.nonzero(there).flatten().tolist()


def edges_of(batch: PlainBatch, egonet: int) -> list[tuple[int, int]]:
    sources, targets = batch.sources, batch.targets
    inside = batch.egonet_of[sources] == egonet
    assert torch.equal(inside, batch.egonet_of[targets] == egonet)
    return sorted(zip(sources[inside].tolist(), targets[inside].tolist(), strict=True))


def test_dropout_is_for_training_only() -> None:
    config = configured(dropout=0.5)
    taxonomy = random_taxonomy(4)
    network, vectors = drawn_network(config, 0), unit_vectors(taxonomy, 0)
    batch = the_same_draws(taxonomy, next(TrainingSampler(taxonomy, config, 0).epoch()), 50)
    plain = PlainNetwork(network)
    for training in (True, False):
        network.train(training)
        one, other = (plain.loss(vectors, batch).item() for _ in range(2))
        assert (one != other) == training


def test_steps_learn_a_star() -> None:
    taxonomy = star(20)
    step = plain_step_maker(taxonomy, configured(learning_rate=0.02), unit_vectors(taxonomy, 0))
    losses = [step().item() for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])


@pytest.mark.parametrize(
    "variant",
    [
        {"propagation": "gat"},
        {"propagation": "pgcn"},
        {"readout": "mean"},
        {"matching": "mlp"},
        {"matching": "bilinear", "quirks": {"double_exp": True}},
        {"loss": "bce"},
        {"fusion_dim": 5},
    ],
    ids=str,
)
def test_other_models_are_refused(variant: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"only supports {next(iter(variant))} = "):
        PlainNetwork(MatchingNetwork(configured(**variant), SIZE))


@pytest.mark.parametrize("negatives", ["shared", "all"])
def test_other_negatives_are_refused(negatives: str) -> None:
    taxonomy = star(5)
    with pytest.raises(ConfigurationError, match="only supports negative_sampling = sampled"):
        plain_step_maker(
            taxonomy, configured(negative_sampling=negatives), unit_vectors(taxonomy, 0)
        )
