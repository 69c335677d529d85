"""MPNet, with a vector per position and a bias per distance, and its published weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from taxoexpan.features.large_base import TOKENIZER, WEIGHTS
from taxoexpan.features.layers import Size, Transformer
from taxoexpan.features.low_rank import with_difference
from taxoexpan.features.sentence_model import MAX_TOKENS

POSITION_COUNT = 48
"""The positions whose vectors were trained; only the first `MAX_TOKENS` are used."""
FIRST_POSITION = 2
"""The row of the first token in the published table of positions."""
BUCKETS = 32
"""The distances in the attention: half of the buckets for either direction."""
MAX_DISTANCE = 128
"""Larger distances share one bucket."""
EPSILON = 1e-5
"""What the layer norms add to a variance, as published."""
PARTS = {
    "join": "attention.attn.o",
    "attended": "attention.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "transformed": "output.LayerNorm",
}
"""Our names of the parts of a layer, and those in the published file."""


class MPNet(Transformer):
    """An encoder with a vector per position, and a bias per distance of two tokens."""

    tokenizer: Tokenizer
    dropout = 0.05
    """As in the pre-training."""
    special_tokens = ("<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>")

    def __init__(self, size: Size, tokenizer: Tokenizer) -> None:
        super().__init__(size, tokenizer)
        self.positions = nn.Parameter(torch.zeros(POSITION_COUNT, size.dimension))
        self.distances = nn.Parameter(torch.zeros(BUCKETS, size.heads))

    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens at their positions: [B, L] → [B, L, D]."""
        embedded: Tensor = self.tokens(ids) + self.positions[: ids.shape[1]]
        return embedded

    def attention_bias(self, mask: Tensor) -> Tensor:
        """Return what is added to the attention, given the valid tokens: [B, L] → [B, H, L, L]."""
        places = torch.arange(mask.shape[1], device=mask.device)
        buckets = distance_bucket(places - places[:, None])
        bias = self.distances[buckets].permute(2, 0, 1)
        kind = mask.device.type
        if torch.is_autocast_enabled(kind):  # once, instead of in every layer
            bias = bias.to(torch.get_autocast_dtype(kind))
        return bias.masked_fill(~mask[:, None, None], -torch.inf)


def distance_bucket(offsets: Tensor) -> Tensor:
    """Return the bucket of each offset: one per small distance, then wider ones (as in T5)."""
    half = BUCKETS // 2
    exact = half // 2
    distances = offsets.abs()
    ratios = (distances.clamp(min=1).float() / exact).log() / math.log(MAX_DISTANCE / exact)
    wide = (exact + (ratios * (half - exact)).long()).clamp(max=half - 1)
    return half * (offsets > 0) + torch.where(distances < exact, distances, wide)


def load_mpnet(folder: Path, difference: Path | None = None, longest: int = MAX_TOKENS) -> MPNet:
    """Load published weights, plus a stored difference, with the tokenizer beside them.

    `longest` is the number of tokens of a text that are read.
    """
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    published = load_file(folder / WEIGHTS)
    size = _size(published)
    weights = _renamed(published, size.layers)
    if difference is not None:
        weights = with_difference(weights, load_file(difference))
    model = MPNet(size, tokenizer)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def _size(published: Mapping[str, Tensor]) -> Size:
    """Return the size that published weights have."""
    tokens, dimension = published["embeddings.word_embeddings.weight"].shape
    inner = len(published["encoder.layer.0.intermediate.dense.bias"])
    layers = sum(name.endswith(".intermediate.dense.bias") for name in published)
    heads = published["encoder.relative_attention_bias.weight"].shape[1]
    return Size(tokens, dimension, inner, layers, heads, EPSILON)


def _renamed(published: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Return published weights under our names."""
    positions = published["embeddings.position_embeddings.weight"]
    result = {
        "tokens.weight": published["embeddings.word_embeddings.weight"],
        "positions": positions[FIRST_POSITION : FIRST_POSITION + POSITION_COUNT],
        "distances": published["encoder.relative_attention_bias.weight"],
    }
    for kind in ("weight", "bias"):
        result[f"norm.{kind}"] = published[f"embeddings.LayerNorm.{kind}"]
        for index in range(layers):
            old = f"encoder.layer.{index}"
            new = f"layers.{index}"
            attention = [published[f"{old}.attention.attn.{part}.{kind}"] for part in "qkv"]
            result[f"{new}.attend.{kind}"] = torch.cat(attention)
            for ours, theirs in PARTS.items():
                result[f"{new}.{ours}.{kind}"] = published[f"{old}.{theirs}.{kind}"]
    return result
