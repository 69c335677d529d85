"""MiniLM (a small BERT with mean pooling), and its weights in a quantized file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import BertWordPieceTokenizer
from torch import Tensor, nn

from taxoexpan.features.layers import Size, Transformer
from taxoexpan.features.pretrained import DIMENSION, VOCABULARY, WEIGHTS
from taxoexpan.features.sentence_model import MAX_TOKENS

SIZE = Size(
    tokens=30_522, dimension=DIMENSION, inner=4 * DIMENSION, layers=6, heads=12, epsilon=1e-12
)
"""The size of all-MiniLM-L6-v2."""
POSITION_COUNT = 512
"""The positions in the weights of all-MiniLM-L6-v2; only the first `MAX_TOKENS` are used."""
SCALE = ":scale"
"""The end of the name of a quantized matrix's scales."""
MAX_QUANTIZED = 127
"""The largest number in a quantized matrix."""
MIN_SCALE = 1e-12
"""The scale of a row of zeros, which cannot be 0 because the row is divided by it."""


class MiniLM(Transformer):
    """A small BERT: a vector per token and per position, and six layers."""

    dropout = 0.1
    """As when BERT was trained."""
    special_tokens = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, vocabulary: Path, layers: int = SIZE.layers) -> None:
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        tokenizer.enable_truncation(MAX_TOKENS)
        super().__init__(replace(SIZE, layers=layers), tokenizer)
        self.positions = nn.Parameter(torch.zeros(POSITION_COUNT, DIMENSION))

    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens at their positions: [B, L] → [B, L, D]."""
        embedded: Tensor = self.tokens(ids) + self.positions[: ids.shape[1]]
        return embedded


def load_minilm(folder: Path) -> MiniLM:
    """Load the model from its two files in a directory."""
    weights = dequantize(load_file(folder / WEIGHTS))
    layers = sum(name.endswith(".attend.weight") for name in weights)
    model = MiniLM(folder / VOCABULARY, layers)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def quantize(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Round matrices to 8 bits with one scale per row, and all other weights to 16 bits."""
    quantized: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() < 2:
            quantized[name] = weight.half()
            continue
        scale = (weight.abs().amax(1, keepdim=True) / MAX_QUANTIZED).clamp(min=MIN_SCALE)
        quantized[name] = (weight / scale).round().char()
        quantized[name + SCALE] = scale.float()
    return quantized


def dequantize(quantized: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return quantized weights in single precision."""
    weights = {}
    for name, values in quantized.items():
        if not name.endswith(SCALE):
            scale = quantized.get(name + SCALE)
            weights[name] = values.float() if scale is None else values.float().mul_(scale)
    return weights
