"""Whether the parts of a model belong together; a part that does not is a ValueError."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.features.encoder import Encoder
from taxoexpan.files.tensor_file import TensorInfo
from taxoexpan.model_directory import ANCHORS, TAXONOMY, TOWER, WEIGHTS, IntactDirectory
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower

LAYOUT = {
    "names": ("F32", 2),
    "heads": ("F32", 2),
    "head_of": ("I64", 1),
    "keys": ("F32", 2),
    "as_anchors": ("F32", 2),
    "as_queries": ("F32", 2),
}
"""The type and the number of dimensions of each tensor of the anchors."""
OF_TOWER = {"as_anchors", "as_queries"}


def check_identity(directory: IntactDirectory) -> None:
    """Refuse a file of tensors that was written with other weights or another taxonomy."""
    for name, file in directory.tensor_files.items():
        is_own = name in (WEIGHTS, TAXONOMY) or "/" in name
        if not is_own and file.metadata.get("model") != directory.identity:
            raise ValueError(f"{name} belongs to another model")


def empty_network(
    config: Config, dimension: int, stored: Mapping[str, TensorInfo]
) -> MatchingNetwork:
    """Build the network of the settings, if the stored weights are those of such a network.

    Its shapes are compared before any memory is reserved for them.
    """
    if config.num_layers > len(stored):
        raise ValueError(f"{WEIGHTS} has fewer layers than the settings")
    with torch.device("meta"):
        expected = MatchingNetwork(config, dimension).state_dict()
    if {*expected} != {*stored}:
        raise ValueError(f"{WEIGHTS} has the weights of another network")
    for name, tensor in expected.items():
        if stored[name].dtype != "F32" or stored[name].shape != tuple(tensor.shape):
            raise ValueError(f"{WEIGHTS} has another shape of {name} than the settings")
    return MatchingNetwork(config, dimension)


def check_tower(tower: TextTower, weights: Mapping[str, Tensor]) -> None:
    """Refuse the weights of another transformer."""
    expected = tower.state_dict()
    is_same = {*expected} == {*weights} and all(
        weights[name].shape == tensor.shape and weights[name].dtype == tensor.dtype
        for name, tensor in expected.items()
    )
    if not is_same:
        raise ValueError(f"{TOWER} has the weights of another transformer")


def check_anchors(
    directory: IntactDirectory,
    anchors: Mapping[str, Tensor],
    size: int,
    network: MatchingNetwork,
    encoder: Encoder,
    tower: TextTower | None,
) -> None:
    """Refuse anchors that are not those of `size` concepts, this network and these encoders."""
    stored = directory.tensor_files[ANCHORS].tensors
    if tower is None and {*stored} & OF_TOWER:
        raise ValueError(f"there is no {TOWER}, but the anchors need it")
    if {*stored} not in ({*LAYOUT} - OF_TOWER, {*LAYOUT}):
        raise ValueError(f"{ANCHORS} has other tensors")
    for name, info in stored.items():
        rows = anchors["heads"].shape[0] if name == "heads" else size
        if (info.dtype, len(info.shape)) != LAYOUT[name] or info.shape[0] != rows:
            raise ValueError(f"{ANCHORS} has {name} of the wrong type or shape")
    head_of, dimension = stored["head_of"], encoder.dimension
    if head_of.low < 0 or head_of.high >= len(anchors["heads"]):
        raise ValueError(f"{ANCHORS} has head words out of range")
    widths = {"names": dimension, "heads": dimension}
    if tower is not None:
        widths |= dict.fromkeys(OF_TOWER & {*stored}, tower.dimension)
    for name, width in widths.items():
        if stored[name].shape[1] != width:
            raise ValueError(f"{ANCHORS} has {name} of the wrong dimension")
    keys, match = anchors["keys"][:1], network.match
    with torch.no_grad():  # keys of another width cannot be matched with a query
        match.score_all(keys, match.project_queries(anchors["names"][:1]))
