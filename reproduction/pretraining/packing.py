"""Encoding of texts one after the other, without padding, which takes a GPU half of the time.

Labels have 3 to 48 tokens, so padded blocks waste much, and several small blocks start several
times as many kernels. Vectors and products are in half precision, the weights stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reproduction.pretraining.encoders import Nomic, TurningLayer, rotation, turn
from taxoexpan.features.layers import Layer
from taxoexpan.features.minilm import MiniLM
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.taxonomy.arrays import Indices

PackedModel = MiniLM | Nomic
"""The models that can encode packed texts: MPNet adds a bias to each pair of tokens."""


WIDTH = 128
"""The tokens of a row, which has several texts: attention is fastest in tiles of this size."""


@dataclass(frozen=True)
class PackedTokens:
    """The tokens of N texts in R rows of `WIDTH` tokens: several texts in a row, none in two.

    `places` [R, W] are the tokens' places in their texts, and `owners` [R, W] their texts; N for
    padding.
    """

    ids: Tensor
    places: Tensor
    owners: Tensor
    texts: int

    @classmethod
    def of(cls, flat: Tensor, starts: Indices, lengths: Indices) -> PackedTokens:
        """Take texts, given by starts and lengths [N], out of all tokens, on their device."""
        cells, rows = first_cells(lengths)
        device = flat.device
        count = len(lengths)
        shapes = torch.from_numpy(np.stack([starts, lengths, cells])).to(device, non_blocking=True)
        begins, sizes, targets = shapes
        total = int(lengths.sum())
        owners = torch.repeat_interleave(
            torch.arange(count, device=device), sizes, output_size=total
        )
        places = torch.arange(total, device=device) - (sizes.cumsum(0) - sizes)[owners]
        grid = torch.zeros(3, rows * WIDTH, dtype=torch.int64, device=device)
        grid[2] = count
        values = torch.stack([flat[begins[owners] + places].long(), places, owners])
        grid[:, targets[owners] + places] = values
        ids, places, owners = grid.view(3, rows, WIDTH)
        return cls(ids, places, owners, count)

    def same_text(self) -> Tensor:
        """Return which tokens of a row belong to the same text: [R, 1, W, W]."""
        return (self.owners[:, :, None] == self.owners[:, None, :])[:, None]


def first_cells(lengths: Indices) -> tuple[Indices, int]:
    """Return the cell of the first token of each text in rows of `WIDTH` cells, and the rows.

    A row has texts of one length, so that their cells follow without a loop over texts.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    per_row = WIDTH // np.maximum(ordered, 1)
    first = np.searchsorted(ordered, ordered)
    numbers = np.arange(len(ordered)) - first
    _, begins, counts = np.unique(ordered, return_index=True, return_counts=True)
    needed = -(-counts // per_row[begins])
    before = np.repeat(needed.cumsum() - needed, counts)
    cells = np.empty(len(lengths), np.int64)
    cells[order] = (before + numbers // per_row) * WIDTH + numbers % per_row * ordered
    return cells, int(needed.sum())


def can_pack(model: SentenceModel) -> TypeGuard[PackedModel]:
    """Return whether this model encodes packed texts on its device."""
    return isinstance(model, PackedModel) and model.device.type == "cuda"


def encode_packed(
    model: PackedModel, tokens: PackedTokens, precision: torch.dtype = torch.bfloat16
) -> Tensor:
    """Return the unit vectors of texts: [N, D]."""
    with torch.autocast(model.device.type, enabled=False):
        drop = partial(F.dropout, p=model.dropout, training=model.training)
        embedded = F.embedding(tokens.ids, model.tokens.weight).to(precision)
        if isinstance(model, MiniLM):
            embedded = embedded + F.embedding(tokens.places, model.positions).to(precision)
        hidden = drop(_normalized(model.norm, embedded))
        mask = tokens.same_text()
        for layer in model.layers:
            assert isinstance(layer, Layer)
            joined = _linear(layer.join, _attention(layer, hidden, mask))
            hidden = _normalized(layer.attended, hidden + drop(joined))
            narrowed = _linear(layer.narrow, layer.activate(_linear(layer.widen, hidden)))
            hidden = _normalized(layer.transformed, hidden + drop(narrowed))
        sums = torch.zeros(tokens.texts + 1, hidden.shape[2], device=hidden.device)
        sums = sums.index_add(0, tokens.owners.flatten(), hidden.flatten(0, 1).float())
        # The direction of the sum is that of the mean.
        return F.normalize(sums[: tokens.texts], dim=1)


def _attention(layer: Layer, hidden: Tensor, mask: Tensor) -> Tensor:
    """Return what the attention of a layer mixes: [R, W, D] → [R, W, D]."""
    projected = _linear(layer.attend, hidden).unflatten(2, (3, layer.heads, -1))
    query, key, value = projected.permute(2, 0, 3, 1, 4)
    if isinstance(layer, TurningLayer):
        # Only differences of places matter, so the places in the row are as good.
        angles = rotation(hidden.shape[1], query.shape[3] // 2, query.device)
        query = turn(query, *angles)
        key = turn(key, *angles)
    mixed = F.scaled_dot_product_attention(query, key, value, mask)
    return mixed.transpose(1, 2).flatten(2)


def _linear(linear: nn.Linear, inputs: Tensor) -> Tensor:
    """Apply a linear layer in the precision of its inputs."""
    bias = None if linear.bias is None else linear.bias.to(inputs.dtype)
    return F.linear(inputs, linear.weight.to(inputs.dtype), bias)


def _normalized(norm: nn.LayerNorm, inputs: Tensor) -> Tensor:
    """Apply a layer norm in the precision of its inputs."""
    weight, bias = norm.weight.to(inputs.dtype), norm.bias.to(inputs.dtype)
    return F.layer_norm(inputs, norm.normalized_shape, weight, bias, norm.eps)
