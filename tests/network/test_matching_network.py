from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.egonets import Egonets
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors, anchor_egonets
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy
from tests.support.reference_network import (
    anchor_embedding,
    double_precision,
    egonet_in,
    egonet_of,
    embed,
    instance_loss,
    raw_match,
    score,
)

SIZE = 6
FAMILY = [
    {"propagation": propagation, "readout": readout, "matching": matching}
    for propagation in ("gcn", "gat", "pgcn", "pgat")
    for readout in ("mean", "weighted", "concat")
    for matching in ("mlp", "bilinear")
]
BEST = {"propagation": "pgat", "readout": "weighted", "matching": "bilinear"}
AS_THEIR_CODE = [
    {**BEST, "readout": "concat", "quirks": {"egonet_concat": True}},
    {**BEST, "matching": "mlp", "quirks": {"mlp_relu": True}},
    {**BEST, "quirks": {"double_exp": True}},
]
DEPTHS = [{"num_layers": 0}, {"num_layers": 3}, {"num_output_heads": 3}, {"hidden_dim": 1}]
of_the_family = pytest.mark.parametrize(
    "variant",
    [*FAMILY, *AS_THEIR_CODE, *({**member, **depth} for member in FAMILY[::5] for depth in DEPTHS)],
    ids=lambda variant: "-".join(map(str, variant.values())),
)


def random_case(seed: int, **variant: object) -> tuple[Taxonomy, MatchingNetwork, torch.Tensor]:
    """Return a random taxonomy, a network with random weights, and unit vectors [2, N, 6]."""
    taxonomy = random_taxonomy(seed, count=4 + seed % 8, most_parents=2)
    sizes = {"hidden_dim": 3, "num_heads": 2, "embedding_dim": 4, "position_dim": 2}
    network = MatchingNetwork(load_preset("best", **{**sizes, **variant}), SIZE).eval()
    drawn = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data.normal_(generator=drawn)
    vectors = torch.randn(2, len(taxonomy), SIZE, generator=drawn)
    vectors[1] = vectors[1][torch.randint(len(taxonomy), (len(taxonomy),), generator=drawn)]
    return taxonomy, network, vectors / vectors.norm(dim=2, keepdim=True)


def test_narrow_keys_give_the_scores_of_wide_ones() -> None:
    with double_precision(), torch.no_grad():
        taxonomy, network, vectors = random_case(3, hidden_dim=1)
        egonets = anchor_egonets(taxonomy, np.arange(len(taxonomy)), 50)
        names, queries = vectors[0][egonets.concepts], torch.randn(5, SIZE)
        keys = network.encode(names, egonets)
        wide = embed(network, names, egonets) @ network.match.weight
        assert keys.shape[1] < wide.shape[1] == SIZE
        torch.testing.assert_close(
            keys @ network.project_queries(queries, keys).T,
            wide @ network.project_queries(queries, wide).T,
        )


@of_the_family
@given(seed=st.integers(0, 10_000))
@settings(max_examples=1, deadline=None)
def test_batched_encoding_equals_the_equations_node_by_node(
    variant: dict[str, object], seed: int
) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(seed, **variant)
        egonets = anchor_egonets(taxonomy, np.arange(len(taxonomy)), 50)
        names = vectors[0][egonets.concepts]
        embeddings, keys = embed(network, names, egonets), network.encode(names, egonets)
        query = torch.randn(SIZE)
        raw = network.match.score_all(keys, network.project_queries(query[None], keys))
        for anchor in range(len(taxonomy)):
            slow = anchor_embedding(network, vectors[0], egonet_of(taxonomy, anchor))
            torch.testing.assert_close(embeddings[anchor], slow)
            torch.testing.assert_close(raw[anchor, 0], raw_match(network, slow, query))


@pytest.mark.parametrize("loss", ["infonce", "bce"])
@of_the_family
@given(seed=st.integers(0, 10_000))
@settings(max_examples=1, deadline=None)
def test_loss_and_gradient_of_every_variant_equal_the_equations_pair_by_pair(
    variant: dict[str, object], loss: str, seed: int
) -> None:
    hold_against_the_equations(seed, 2, 0.4, {**variant, "loss": loss})


@pytest.mark.parametrize("negatives", ["sampled", "shared"])
@pytest.mark.parametrize("loss", ["infonce", "bce"])
@pytest.mark.parametrize(("siblings", "childless"), [(50, 0.0), (2, 0.4)])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=1, deadline=None)
def test_loss_and_gradient_equal_the_equations_pair_by_pair(
    siblings: int, childless: float, loss: str, negatives: str, seed: int
) -> None:
    variant = {"loss": loss, "negative_sampling": negatives}
    hold_against_the_equations(seed, siblings, childless, variant)


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared"])
@pytest.mark.parametrize("matching", ["bilinear", "mlp"])
@pytest.mark.parametrize("loss", ["infonce", "bce"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=1, deadline=None)
def test_loss_and_gradient_with_mentions_equal_the_equations(
    loss: str, matching: str, negatives: str, seed: int
) -> None:
    variant = {
        "loss": loss,
        "matching": matching,
        "negative_sampling": negatives,
        "use_mentions": True,
    }
    hold_against_the_equations(seed, 50, 0.0, variant)


def random_mentions(rows: int, taxonomy: Taxonomy, seed: int) -> Mentions:
    """Return up to three mentioned concepts per row; one of them may be mentioned in two ways."""
    generator = np.random.default_rng(seed)
    drawn = [
        {
            (int(generator.integers(len(taxonomy))), int(generator.integers(len(MentionKind))))
            for _ in range(generator.integers(4))
        }
        for _ in range(rows)
    ]
    return Mentions.from_rows([sorted(each) for each in drawn])


def slow_bonus(network: MatchingNetwork, mentions: Mentions, row: int, anchor: int) -> torch.Tensor:
    """Return the bonus of an anchor that the query mentions."""
    total = torch.zeros(())
    _, concepts, kinds = mentions.of_many(np.array([row]))
    for concept, kind in zip(concepts, kinds, strict=True):
        if network.mentions is not None and concept == anchor:
            total = total + network.mentions.reach * network.mentions.weight[kind]
    return total


def hold_against_the_equations(
    seed: int, siblings: int, childless: float, variant: dict[str, object]
) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(seed, **variant)
        shape = {
            "batch_size": 64,
            "num_negatives": 5,
            "max_siblings": siblings,
            "hide_children_rate": childless,
        }
        shape["negative_sampling"] = variant.get("negative_sampling", "shared")
        shape["use_mentions"] = variant.get("use_mentions", False)
        mentions = random_mentions(len(taxonomy), taxonomy, seed)
        sampler = TrainingSampler(taxonomy, load_preset("best", **shape), seed, mentions)
        batch = next(sampler.epoch())
        fast = network.loss(ConceptVectors.of(vectors), batch)
        slow = slow_loss(network, taxonomy, vectors, batch, str(variant["loss"]), mentions)
        torch.testing.assert_close(fast, slow)
        parameters = list(network.parameters())
        gradients = [
            torch.autograd.grad(loss, parameters, allow_unused=True) for loss in (fast, slow)
        ]
        # With huge gradients (an exp of an exp), small ones are differences of large sums.
        largest = max(float(g.abs().max()) for g in gradients[1] if g is not None)
        for one, other, parameter in zip(*gradients, parameters, strict=True):
            zero = torch.zeros_like(parameter)
            torch.testing.assert_close(
                one if one is not None else zero,
                other if other is not None else zero,
                rtol=1e-7,
                atol=1e-7 * max(1.0, 1e-4 * largest),
            )


def slow_loss(
    network: MatchingNetwork,
    taxonomy: Taxonomy,
    vectors: torch.Tensor,
    batch: TrainingBatch,
    loss: str,
    mentions: Mentions,
) -> torch.Tensor:
    """Compute the loss one instance and one egonet at a time."""
    anchors = sorted({int(a) for a in batch.egonets.concepts[anchor_nodes(batch.egonets)]})
    total, counted = torch.zeros(()), 0
    for row, query in enumerate(batch.queries.tolist()):
        place = int(batch.positives[row])
        tried = anchors
        if batch.negatives is not None:
            drawn = batch.negatives if batch.negatives.dim() == 1 else batch.negatives[:, row]
            tried = [anchors[i] for i in drawn]
        parents = set(taxonomy.parents_of.of(query).tolist())
        below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
        negatives = [a for a in tried if a not in parents | below | {query}]
        own = egonet_in(batch.egonets, place, without=query)
        others = [egonet_in(batch.egonets, anchors.index(a)) for a in negatives]
        raw = [score(network, vectors, egonet, vectors[:, query]) for egonet in (own, *others)]
        pairs_of = zip(raw, (anchors[place], *negatives), strict=True)
        raw = [value + slow_bonus(network, mentions, query, anchor) for value, anchor in pairs_of]
        value, pairs = instance_loss(network, raw, loss)
        total, counted = total + value, counted + pairs
    return total / counted


@pytest.mark.parametrize("name", ["propagation", "readout", "matching", "loss"])
def test_the_error_for_an_unknown_part_lists_the_choices(name: str) -> None:
    known = {"propagation": "gcn", "readout": "mean", "matching": "mlp", "loss": "bce"}
    with pytest.raises(ConfigurationError, match=f"{name} is 'gnn'; it must be .*{known[name]}"):
        MatchingNetwork(load_preset("best", **{name: "gnn"}), SIZE)


@pytest.mark.parametrize("mentioning", [False, True])
def test_the_ranker_scores_every_pair_by_the_equations(mentioning: bool) -> None:
    with double_precision():
        taxonomy, network, vectors = random_case(3, use_mentions=mentioning)
        mentions = random_mentions(3, taxonomy, 3)
        queries = torch.nn.functional.normalize(torch.randn(2, 3, SIZE), dim=2)
        anchors = Anchors(taxonomy, ConceptVectors.of(vectors), 50)
        scores = Ranker(network, anchors).scores(Queries(queries, mentions))
        for anchor in range(len(taxonomy)):
            for q in range(3):
                slow = score(network, vectors, egonet_of(taxonomy, anchor), queries[:, q])
                slow = slow + slow_bonus(network, mentions, q, anchor)
                torch.testing.assert_close(scores[anchor, q], slow.detach())


def test_dropout_keeps_the_mean_and_drops_at_the_rate() -> None:
    _, network, _ = random_case(0)
    network.train()
    torch.manual_seed(0)
    ones = torch.ones(400, 500)
    dropped = network._drop(ones, 0.25)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert network.eval()._drop(ones, 0.25) is ones


def anchor_nodes(egonets: Egonets) -> torch.Tensor:
    return egonets.nodes.split(egonets.sizes)[1]
