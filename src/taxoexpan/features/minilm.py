"""MiniLM (a small BERT with mean pooling), and its weights in a compact file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import BertWordPieceTokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.features.sentence_model import MAX_TOKENS, SentenceModel

WIDTH = 384
HEADS = 12
LAYERS = 6
"""The size of a vector, D; the attention heads, H; and the layers."""
FROZEN_LAYERS = 2
"""The lower layers that a fine-tuning leaves as they are, like the embeddings."""
TOKEN_COUNT = 30_522
POSITION_COUNT = 512
DROPOUT = 0.1
VOCABULARY = "vocabulary.txt"
WEIGHTS = "weights.safetensors"
"""The files of the model."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SCALE = ":scale"
"""The end of the name of a matrix's scales."""


class MiniLM(SentenceModel):
    """The encoder: embeddings of tokens and positions, six layers, and the mean over tokens."""

    dimension = WIDTH

    def __init__(self, vocabulary: Path) -> None:
        super().__init__()
        self.tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.special = frozenset(map(self.tokenizer.token_to_id, SPECIAL))
        self.tokens = Embedding(TOKEN_COUNT, WIDTH)
        self.positions = nn.Parameter(torch.zeros(POSITION_COUNT, WIDTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `MAX_TOKENS`."""
        return (each.ids for each in self.tokenizer.encode_batch(texts))

    def choose_layers(self) -> list[nn.Parameter]:
        """Freeze the embeddings and lower layers: to tune them costs time and gains little."""
        self.requires_grad_(False)
        self.layers[FROZEN_LAYERS:].requires_grad_(True)
        return super().choose_layers()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        valid = None if mask.all() else mask[:, None, None]
        hidden = self.norm(self.tokens(ids) + self.positions[: ids.shape[1]])
        hidden = F.dropout(hidden, DROPOUT, self.training)
        for layer in self.layers:
            hidden = layer(hidden, valid)
        weights = mask.to(hidden.dtype)[:, :, None]
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


class Linear(nn.Linear):
    """A linear layer whose weights are loaded, not initialized."""

    def reset_parameters(self) -> None:
        """Do nothing."""


class Embedding(nn.Embedding):
    """An embedding whose weights are loaded, not initialized."""

    def reset_parameters(self) -> None:
        """Do nothing."""


class Layer(nn.Module):
    """Self-attention, then an MLP, each with a residual connection and a layer norm after it."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = Linear(WIDTH, 3 * WIDTH)
        self.join = Linear(WIDTH, WIDTH)
        self.attended = nn.LayerNorm(WIDTH, eps=1e-12)
        self.widen = Linear(WIDTH, 4 * WIDTH)
        self.narrow = Linear(4 * WIDTH, WIDTH)
        self.transformed = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, hidden: Tensor, valid: Tensor | None) -> Tensor:
        """Transform hidden states, attending to `valid` [B, 1, 1, L]: [B, L, D] → [B, L, D]."""
        rate = DROPOUT if self.training else 0.0
        parts = self.attend(hidden).unflatten(2, (3, HEADS, WIDTH // HEADS))
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # [B, H, L, D / H] each
        mixed = F.scaled_dot_product_attention(query, key, value, valid, rate)
        joined = self.join(mixed.transpose(1, 2).flatten(2))
        hidden = self.attended(hidden + F.dropout(joined, rate))
        narrowed = self.narrow(F.gelu(self.widen(hidden)))
        transformed: Tensor = self.transformed(hidden + F.dropout(narrowed, rate))
        return transformed


def load_minilm(folder: Path) -> MiniLM:
    """Load the model from its two files in a directory."""
    model = MiniLM(folder / VOCABULARY)
    model.load_state_dict(restored(load_file(folder / WEIGHTS)), assign=True)
    return model.eval()


def compact(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Round matrices to 8 bits with one scale per row, and all other weights to 16 bits."""
    small: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() < 2:
            small[name] = weight.half()
            continue
        scale = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-12)
        small[name], small[name + SCALE] = (weight / scale).round().char(), scale.float()
    return small


def restored(small: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a compact file in single precision."""
    weights = {name: weight.float() for name, weight in small.items() if SCALE not in name}
    for name, weight in weights.items():
        if name + SCALE in small:
            weight *= small[name + SCALE]
    return weights
