"""MiniLM (a small BERT with mean pooling), and its weights in a quantized file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import BertWordPieceTokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.features.pretrained import DIMENSION, VOCABULARY, WEIGHTS
from taxoexpan.features.sentence_model import MAX_TOKENS, SentenceModel

HEADS = 12
"""The attention heads, H."""
LAYERS = 6
"""The number of layers."""
FROZEN_LAYERS = 2
"""The lower layers that a fine-tuning leaves as they are, like the embeddings."""
TOKEN_COUNT = 30_522
"""The tokens of the vocabulary."""
POSITION_COUNT = 512
"""The positions in the weights of all-MiniLM-L6-v2; only the first `MAX_TOKENS` are used."""
DROPOUT = 0.1
"""The fraction of hidden values that is dropped in training, as when BERT was trained."""
NORM_EPSILON = 1e-12
"""What the layer norms add to a variance, as in BERT."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The tokens that stand for no part of a text."""
SCALE = ":scale"
"""The end of the name of a quantized matrix's scales."""
MAX_QUANTIZED = 127
"""The largest number in a quantized matrix."""
MIN_SCALE = 1e-12
"""The scale of a row of zeros, which cannot be 0 because the row is divided by it."""


class MiniLM(SentenceModel):
    """The encoder: embeddings of tokens and positions, six layers, and the mean over tokens.

    The names of its parts are the keys of the stored weights.
    """

    dimension = DIMENSION

    def __init__(self, vocabulary: Path, layers: int = LAYERS) -> None:
        super().__init__()
        self.tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.special = frozenset(map(self.tokenizer.token_to_id, SPECIAL))
        self.tokens = LoadedEmbedding(TOKEN_COUNT, DIMENSION)
        self.positions = nn.Parameter(torch.zeros(POSITION_COUNT, DIMENSION))
        self.norm = nn.LayerNorm(DIMENSION, eps=NORM_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `MAX_TOKENS`."""
        return (encoding.ids for encoding in self.tokenizer.encode_batch(texts))

    def freeze_lower_layers(self) -> list[nn.Parameter]:
        """Freeze the embeddings and lower layers: to tune them costs time and gains little."""
        self.requires_grad_(False)
        self.layers[FROZEN_LAYERS:].requires_grad_(True)
        return super().freeze_lower_layers()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        # Attention without a mask is faster, and most blocks have texts of one length. Only a CPU
        # knows at once whether all are valid.
        is_full = mask.device.type == "cpu" and mask.all()
        valid = None if is_full else mask[:, None, None]
        hidden = self.norm(self.tokens(ids) + self.positions[: ids.shape[1]])
        hidden = F.dropout(hidden, DROPOUT, self.training)
        for layer in self.layers:
            hidden = layer(hidden, valid)
        weights = mask.to(hidden.dtype)[:, :, None]
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


class _WithoutInitialization:
    """A module whose weights are loaded; drawing random ones first would take longer."""

    def reset_parameters(self) -> None:
        """Leave the weights as they are."""


class LoadedLinear(_WithoutInitialization, nn.Linear):
    """A linear layer whose weights are loaded."""


class LoadedEmbedding(_WithoutInitialization, nn.Embedding):
    """An embedding whose weights are loaded."""


class Layer(nn.Module):
    """Self-attention, then an MLP, each with a residual connection and a layer norm after it.

    The names of its parts are the keys of the stored weights: `attend` projects to queries, keys
    and values, `join` mixes the heads, `attended` is the layer norm after the attention, `widen`
    and `narrow` are the MLP, and `transformed` is the layer norm after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attend = LoadedLinear(DIMENSION, 3 * DIMENSION)
        self.join = LoadedLinear(DIMENSION, DIMENSION)
        self.attended = nn.LayerNorm(DIMENSION, eps=NORM_EPSILON)
        self.widen = LoadedLinear(DIMENSION, 4 * DIMENSION)
        self.narrow = LoadedLinear(4 * DIMENSION, DIMENSION)
        self.transformed = nn.LayerNorm(DIMENSION, eps=NORM_EPSILON)

    def forward(self, hidden: Tensor, valid: Tensor | None) -> Tensor:
        """Transform hidden states, attending to `valid` [B, 1, 1, L]: [B, L, D] → [B, L, D]."""
        projected = self.attend(hidden).unflatten(2, (3, HEADS, DIMENSION // HEADS))
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # [B, H, L, D / H] each
        rate = DROPOUT if self.training else 0.0  # this function has no `training`
        mixed = F.scaled_dot_product_attention(query, key, value, valid, rate)
        joined = self.join(mixed.transpose(1, 2).flatten(2))
        hidden = self.attended(hidden + F.dropout(joined, DROPOUT, self.training))
        narrowed = self.narrow(F.gelu(self.widen(hidden)))
        output: Tensor = self.transformed(hidden + F.dropout(narrowed, DROPOUT, self.training))
        return output


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
