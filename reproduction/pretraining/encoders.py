"""Two larger encoders: MPNet and Nomic, with twelve layers and 768 dimensions as published.

Both are transformers with layer norms after the residual connections, and take the mean over the
tokens. MPNet has a vector per position and a bias per distance in the attention; Nomic turns
queries and keys by their position, has a gated MLP and no biases in its matrices. The names of
their parts are the keys of the stored weights.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load, save
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.features.minilm import dequantize, quantize
from taxoexpan.features.sentence_model import TOKENIZER_BLOCK, SentenceModel, Tokens

MAX_TOKENS = 48
"""Tokens of a text that are read in the pre-training."""
DROPOUT = 0.05
"""The fraction of hidden values that is dropped in training."""
BUCKETS, MAX_DISTANCE = 32, 128
"""The distances in MPNet's attention: half of the buckets for either direction."""
FIRST_POSITION = 2
"""The row of the first token in MPNet's table of positions."""
ROTATION_BASE = 1000.0
"""The ratio of the fastest and the slowest rotation in Nomic."""
MAX_CHARACTERS = 400
"""Characters of a text that are tokenized: more than 48 tokens have."""
GROUP = 64
"""Numbers of a stored matrix with a scale of their own; one scale per row is too coarse."""
PART_SIZE = 15_000_000
"""The bytes of a part of the stored weights, at most."""
CONFIG, TOKENIZER, PART = "config.json", "tokenizer.json", "part-"
"""The names of the files of an encoder; weights are stored in numbered parts."""


@dataclass(frozen=True)
class Size:
    """The size of an encoder with V tokens, D dimensions, and the inner width I of its MLPs."""

    architecture: str
    tokens: int
    dimension: int
    inner: int
    layers: int
    heads: int
    epsilon: float


@dataclass(frozen=True)
class EncoderTokenizer:
    """The tokenizer of an encoder, without its weights."""

    tokenizer: Tokenizer
    longest: int = MAX_TOKENS

    def __post_init__(self) -> None:
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.longest)

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `longest`."""
        cut = [text[:MAX_CHARACTERS] for text in texts]
        return (encoding.ids for encoding in self.tokenizer.encode_batch(cut))

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens, in blocks: a tokenizer's own result is many times larger."""
        starts = range(0, len(texts), TOKENIZER_BLOCK)
        blocks = (self.token_ids(list(texts[i : i + TOKENIZER_BLOCK])) for i in starts)
        return [array("i", ids) for block in blocks for ids in block]


class Encoder(SentenceModel):
    """A transformer with the mean over tokens."""

    has_gates = False
    """Whether the MLPs have gates, and the matrices no biases."""
    has_rotation = False
    """Whether the attention turns queries and keys by their positions."""

    def __init__(self, size: Size, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.size = size
        self.dimension = size.dimension
        self.tokenizer = EncoderTokenizer(tokenizer)
        self.tokens = nn.Embedding(size.tokens, size.dimension)
        self.norm = nn.LayerNorm(size.dimension, eps=size.epsilon)
        self.layers = nn.ModuleList(
            Layer(size, self.has_gates, not self.has_gates) for _ in range(size.layers)
        )

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `MAX_TOKENS`."""
        return self.tokenizer.token_ids(texts)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        hidden = F.dropout(self.norm(self.embed(ids)), DROPOUT, self.training)
        bias = self.attention_bias(mask)
        rotation = self.rotation(ids.shape[1])
        for layer in self.layers:
            hidden = layer(hidden, bias, rotation)
        weights = mask.to(hidden.dtype)[:, :, None]
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)

    def attention_bias(self, mask: Tensor) -> Tensor:
        """Return what is added to the attention, given the valid tokens: [B, L] → [B, H, L, L]."""
        bias = self.distance_bias(mask.shape[1])
        kind = mask.device.type
        if torch.is_autocast_enabled(kind):  # once, instead of in every layer
            bias = bias.to(torch.get_autocast_dtype(kind))
        return bias.masked_fill(~mask[:, None, None], -torch.inf)

    @abstractmethod
    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens at their positions: [B, L] → [B, L, D]."""

    def distance_bias(self, length: int) -> Tensor:
        """Return what is added to the attention of each head by distance: [H, L, L]."""
        return torch.zeros(1, length, length, device=self.device)

    def rotation(self, length: int) -> tuple[Tensor, Tensor] | None:
        """Return the cosines and sines to turn queries and keys by, if any: [L, D / H / 2] each."""
        if not self.has_rotation:
            return None
        half = self.size.dimension // self.size.heads // 2
        speeds = ROTATION_BASE ** (-torch.arange(half, device=self.device) / half)
        angles = torch.arange(length, device=self.device)[:, None] * speeds
        return angles.cos(), angles.sin()


class MPNet(Encoder):
    """An encoder with a vector per position, and a bias per distance of two tokens."""

    def __init__(self, size: Size, tokenizer: Tokenizer) -> None:
        super().__init__(size, tokenizer)
        self.positions = nn.Parameter(torch.zeros(MAX_TOKENS, size.dimension))
        self.distances = nn.Parameter(torch.zeros(BUCKETS, size.heads))

    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens at their positions: [B, L] → [B, L, D]."""
        embedded: Tensor = self.tokens(ids) + self.positions[: ids.shape[1]]
        return embedded

    def distance_bias(self, length: int) -> Tensor:
        """Return what is added to the attention of each head by distance: [H, L, L]."""
        places = torch.arange(length, device=self.device)
        return self.distances[distance_bucket(places - places[:, None])].permute(2, 0, 1)


class Nomic(Encoder):
    """An encoder that turns queries and keys by their positions."""

    has_gates = True
    has_rotation = True

    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens: [B, L] → [B, L, D]."""
        embedded: Tensor = self.tokens(ids)
        return embedded


class Layer(nn.Module):
    """Self-attention, then an MLP, each with a residual connection and a layer norm after it.

    The parts have the names of MiniLM's. With gates, the first half of `widen` are the gates.
    """

    def __init__(self, size: Size, has_gates: bool, has_biases: bool) -> None:
        super().__init__()
        self.heads = size.heads
        self.has_gates = has_gates
        dimension = size.dimension
        inner = size.inner
        self.attend = nn.Linear(dimension, 3 * dimension, has_biases)
        self.join = nn.Linear(dimension, dimension, has_biases)
        self.attended = nn.LayerNorm(dimension, eps=size.epsilon)
        self.widen = nn.Linear(dimension, 2 * inner if has_gates else inner, has_biases)
        self.narrow = nn.Linear(inner, dimension, has_biases)
        self.transformed = nn.LayerNorm(dimension, eps=size.epsilon)

    def forward(
        self, hidden: Tensor, bias: Tensor, rotation: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Transform hidden states, adding `bias` [B, H, L, L] to the attention: [B, L, D]."""
        projected = self.attend(hidden).unflatten(2, (3, self.heads, -1))
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # [B, H, L, D / H] each
        if rotation is not None:
            query = turn(query, *rotation)
            key = turn(key, *rotation)
        rate = DROPOUT if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, bias, rate)
        joined = self.join(mixed.transpose(1, 2).flatten(2))
        hidden = self.attended(hidden + F.dropout(joined, DROPOUT, self.training))
        narrowed = self.narrow(self._activate(self.widen(hidden)))
        output: Tensor = self.transformed(hidden + F.dropout(narrowed, DROPOUT, self.training))
        return output

    def _activate(self, widened: Tensor) -> Tensor:
        """Apply the activation function: [B, L, I], or [B, L, 2 I] with gates, → [B, L, I]."""
        if not self.has_gates:
            return F.gelu(widened)
        gates, values = widened.chunk(2, dim=2)
        return F.silu(gates) * values


def turn(vectors: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate each pair of the first and second half of vectors [B, H, L, K] by its angle."""
    cosines, sines = cosines.to(vectors.dtype), sines.to(vectors.dtype)
    first, second = vectors.chunk(2, dim=3)
    turned = first * cosines - second * sines, second * cosines + first * sines
    return torch.cat(turned, dim=3)


def distance_bucket(offsets: Tensor) -> Tensor:
    """Return the bucket of each offset: one per small distance, then wider ones (as in T5)."""
    half = BUCKETS // 2
    exact = half // 2
    distances = offsets.abs()
    ratios = (distances.clamp(min=1).float() / exact).log() / math.log(MAX_DISTANCE / exact)
    wide = (exact + (ratios * (half - exact)).long()).clamp(max=half - 1)
    return half * (offsets > 0) + torch.where(distances < exact, distances, wide)


ARCHITECTURES: dict[str, type[Encoder]] = {"mpnet": MPNet, "nomic": Nomic}
"""The encoders by the names of their architectures."""


def load_encoder(folder: Path) -> Encoder:
    """Load an encoder from its directory."""
    size = Size(**json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    model = ARCHITECTURES[size.architecture](size, tokenizer)
    parts = (path.read_bytes() for path in sorted(folder.glob(f"{PART}*")))
    weights = dequantize(load(b"".join(parts)))
    shapes = {name: own.shape for name, own in model.state_dict().items()}
    model.load_state_dict({n: ungrouped(n, weights[n], shape) for n, shape in shapes.items()})
    return model.eval()


def save_encoder(model: Encoder, folder: Path, part_size: int = PART_SIZE) -> None:
    """Save an encoder with matrices rounded to 8 bits, in parts of the same size."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(asdict(model.size), indent=2) + "\n", encoding="utf-8")
    model.tokenizer.tokenizer.save(str(folder / TOKENIZER))
    weights = quantize({n: grouped(n, each.cpu()) for n, each in model.state_dict().items()})
    content = save({name: each.contiguous() for name, each in weights.items()})
    for path in folder.glob(f"{PART}*"):
        path.unlink()
    for number, start in enumerate(range(0, len(content), part_size)):
        part = content[start : start + part_size]
        (folder / f"{PART}{number:02}").write_bytes(part)


def grouped(name: str, weight: Tensor) -> Tensor:
    """Return a matrix with its numbers in rows of one group each; a vector as it is.

    The numbers of a group in a layer are weights of one input, because some inputs are far larger
    than others, and their weights must be exact.
    """
    if weight.dim() < 2 or weight.numel() % GROUP:
        return weight
    return (weight.T if name.startswith("layers.") else weight).reshape(-1, GROUP)


def ungrouped(name: str, weight: Tensor, shape: torch.Size) -> Tensor:
    """Return a weight of this shape from its groups."""
    is_turned = len(shape) == 2 and weight.shape[1] == GROUP and name.startswith("layers.")
    return weight.reshape(shape[::-1]).T if is_turned else weight.reshape(shape)
