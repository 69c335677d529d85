"""Two larger encoders: MPNet and Nomic, with twelve layers and 768 dimensions as published.

The package has MPNet. Nomic turns queries and keys by their position, has a gated MLP and no biases
in its matrices. The names of their parts are the keys of the stored weights.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import torch
from safetensors.torch import load, save
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.features.layers import Layer, LoadedLinear, Size, Transformer
from taxoexpan.features.minilm import dequantize, quantize
from taxoexpan.features.mpnet import MPNet
from taxoexpan.features.sentence_model import TOKENIZER_BLOCK, Tokens

MAX_TOKENS = 48
"""Tokens of a text that are read in the pre-training."""
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


class Nomic(Transformer):
    """An encoder that turns queries and keys by their positions."""

    tokenizer: Tokenizer
    dropout = 0.05

    def make_layer(self) -> Layer:
        """Return a layer without weights."""
        return TurningLayer(self.size, self.dropout)

    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens: [B, L] → [B, L, D]."""
        embedded: Tensor = self.tokens(ids)
        return embedded


class TurningLayer(Layer):
    """A layer that turns queries and keys by their positions; its matrices have no biases.

    The first half of `widen` are the gates of the MLP.
    """

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__(size, dropout)
        self.attend = LoadedLinear(size.dimension, 3 * size.dimension, bias=False)
        self.join = LoadedLinear(size.dimension, size.dimension, bias=False)
        self.widen = LoadedLinear(size.dimension, 2 * size.inner, bias=False)
        self.narrow = LoadedLinear(size.inner, size.dimension, bias=False)

    def project(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return turned queries and keys, and values: [B, L, D] → [B, H, L, D / H] each."""
        query, key, value = super().project(hidden)
        angles = rotation(query.shape[2], query.shape[3] // 2, query.device)
        return turn(query, *angles), turn(key, *angles), value

    def activate(self, widened: Tensor) -> Tensor:
        """Apply the gates of the MLP: [..., 2 I] → [..., I]."""
        gates, values = widened.chunk(2, dim=-1)
        return F.silu(gates) * values


@lru_cache(maxsize=MAX_TOKENS)
def rotation(length: int, half: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines to turn queries and keys by: [L, D / H / 2] each."""
    speeds = ROTATION_BASE ** (-torch.arange(half, device=device) / half)
    angles = torch.arange(length, device=device)[:, None] * speeds
    return angles.cos(), angles.sin()


def turn(vectors: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate each pair of the first and second half of vectors [..., K] by its angle."""
    cosines, sines = cosines.to(vectors.dtype), sines.to(vectors.dtype)
    first, second = vectors.chunk(2, dim=-1)
    turned = first * cosines - second * sines, second * cosines + first * sines
    return torch.cat(turned, dim=-1)


Encoder = MPNet | Nomic
ARCHITECTURES: dict[str, type[Encoder]] = {"mpnet": MPNet, "nomic": Nomic}
"""The encoders by the names of their architectures."""


def load_encoder(folder: Path) -> Encoder:
    """Load an encoder from its directory."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    architecture = ARCHITECTURES[config.pop("architecture")]
    tokenizer = EncoderTokenizer(Tokenizer.from_file(str(folder / TOKENIZER)))
    model = architecture(Size(**config), tokenizer.tokenizer)
    parts = (path.read_bytes() for path in sorted(folder.glob(f"{PART}*")))
    weights = dequantize(load(b"".join(parts)))
    shapes = {name: own.shape for name, own in model.state_dict().items()}
    model.load_state_dict({n: ungrouped(n, weights[n], shape) for n, shape in shapes.items()})
    return model.eval()


def save_encoder(model: Encoder, folder: Path, part_size: int = PART_SIZE) -> None:
    """Save an encoder with matrices rounded to 8 bits, in parts of the same size."""
    folder.mkdir(parents=True, exist_ok=True)
    (name,) = (name for name, kind in ARCHITECTURES.items() if isinstance(model, kind))
    config = {"architecture": name, **asdict(model.size)}
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    model.tokenizer.save(str(folder / TOKENIZER))
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
