"""The network against the outputs of 36 models of the authors' implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from taxoexpan.config import load_preset
from taxoexpan.network.egonets import Egonets
from taxoexpan.network.matching import LogBilinearMatch, MLPMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.pooling import WeightedMeanReadout
from taxoexpan.network.propagation import AttentionLayer, Layer
from tests.support.reference_network import embed

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
DIMS = GOLDEN["dims"]
READOUTS = {"MR": "mean", "WMR": "weighted", "CR": "concat"}
MATCHES = {"BIM": "bilinear", "LBM": "bilinear", "MLP": "mlp"}
Weights = dict[str, torch.Tensor]


def their_network(name: str, weights: Weights) -> MatchingNetwork:
    """Build our network with their weights."""
    propagation, readout, match = name.split("+")
    network = MatchingNetwork(
        load_preset(
            "paper",
            propagation=propagation.lower(),
            readout=READOUTS[readout],
            matching=MATCHES[match],
            hidden_dim=DIMS["hidden_dim"],
            num_heads=DIMS["heads"][0] if "GAT" in propagation else 1,
            embedding_dim=DIMS["out_dim"],
            position_dim=DIMS["pos_dim"],
            quirks={"egonet_concat": True, "mlp_relu": True},
        ),
        DIMS["in_dim"],
    ).eval()
    for number, layer in enumerate(network._layers()):
        fill_layer(layer, number, weights)
    if isinstance(network.readout, WeightedMeanReadout):
        fill(network.readout.importance, weights["readout.position_weights.weight"][:, 0])
    if isinstance(network.match, LogBilinearMatch):
        fill(network.match.weight, weights["match.W.weight"][0])
    elif isinstance(network.match, MLPMatch):
        first = weights["match.ffn.0.weight"]
        fill(network.match.anchor_weight, first[:, : -DIMS["in_dim"]])
        fill(network.match.query_weight, first[:, -DIMS["in_dim"] :])
        fill(network.match.hidden_bias, weights["match.ffn.0.bias"])
        fill(network.match.output, weights["match.ffn.2.weight"])
        fill(network.match.bias, weights["match.ffn.2.bias"][0])
    return network


def fill_layer(layer: Layer, number: int, weights: Weights) -> None:
    start = "graph_propagate."
    if isinstance(layer, AttentionLayer):
        of_layer = f"{start}gat_layers.{number}."
        matrix = weights[f"{of_layer}fc.weight"]
        fill(layer.source, weights[f"{of_layer}attn_l"][0])
        fill(layer.towards, weights[f"{of_layer}attn_r"][0])
    else:
        matrix = weights[f"{start}layers.{number}.weight"].T
        fill(layer.bias, weights[f"{start}layers.{number}.bias"])
    fill(layer.weight, matrix[:, : layer.inputs])
    if layer.position is not None:
        fill(layer.position_weight, matrix[:, layer.inputs :])
        fill(layer.position, weights[f"{start}prop_position_embeddings.{number}.weight"])


def fill(parameter: torch.nn.Parameter | None, value: torch.Tensor) -> None:
    assert parameter is not None
    assert parameter.shape == value.shape
    parameter.data.copy_(value)


def their_egonets() -> tuple[list[str], Egonets]:
    """Return the names of all egonets, and the egonets as one batch."""
    nodes: list[list[int]] = [[], [], []]
    of: list[list[int]] = [[], [], []]
    for slot, (concepts, positions) in enumerate(GOLDEN["egonets"].values()):
        for concept, position in zip(concepts, positions, strict=True):
            nodes[position].append(concept)
            of[position].append(slot)
    flat = torch.tensor([concept for group in nodes for concept in group])
    concepts = torch.arange(len(GOLDEN["features"]))
    above, below = torch.tensor(of[0]), torch.tensor(of[2])
    counts = torch.zeros(len(of[1]), 3)
    for position, slots in enumerate(of):
        counts[:, position] = torch.bincount(torch.tensor(slots), minlength=len(of[1]))
    egonets = Egonets(concepts, flat, torch.arange(len(above)), above, below, counts)
    return list(GOLDEN["egonets"]), egonets


@pytest.mark.parametrize("model", GOLDEN["models"], ids=lambda model: model["name"])
def test_every_model_of_the_authors_gives_the_same_numbers(model: dict[str, Any]) -> None:
    weights = {name: torch.tensor(values) for name, values in model["weights"].items()}
    network = their_network(model["name"], weights)
    features = torch.tensor(GOLDEN["features"])
    names, egonets = their_egonets()
    with torch.no_grad():
        embeddings = embed(network, features, egonets)
        keys = network.encode(features, egonets)
        raw = network.match.score_all(keys, network.project_queries(features, keys))
    for key, values in model["embeddings"].items():
        ours = embeddings[names.index(key)]
        torch.testing.assert_close(ours, torch.tensor(values), rtol=1e-5, atol=1e-5)
    for query, key, score in model["scores"]:
        ours = raw[names.index(key), query]
        ours = ours.exp() if model["name"].endswith("LBM") else ours
        torch.testing.assert_close(ours, torch.tensor(score), rtol=1e-5, atol=1e-5)


def test_all_36_models_are_tested() -> None:
    names = {
        f"{propagation}+{readout}+{match}"
        for propagation in ("GCN", "GAT", "PGCN", "PGAT")
        for readout in READOUTS
        for match in MATCHES
    }
    assert {model["name"] for model in GOLDEN["models"]} == names
    assert all(len(model["scores"]) == 12 for model in GOLDEN["models"])
