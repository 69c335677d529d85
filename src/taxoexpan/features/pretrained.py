"""The encoder `pretrained`, a part of the package: MiniLM, pre-trained on taxonomies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.files import file_digest

if TYPE_CHECKING:
    from taxoexpan.features.minilm import MiniLM

# Here, because `minilm` imports PyTorch, which takes a second.
DIMENSION = 384
"""The size of a vector, D."""
VOCABULARY = "vocabulary.txt"
"""The file with the tokens, in the model's directory."""
WEIGHTS = "weights.safetensors"
"""The file with the quantized weights, in the model's directory."""


class PretrainedEncoder(Encoder):
    """The encoder of the package; it loads its weights for the first text."""

    name = "pretrained"
    dimension = DIMENSION

    def __init__(self, device: str = "auto") -> None:
        self._device = device

    def fingerprint(self) -> str:
        """Return a digest of the weights."""
        return file_digest(model_folder() / WEIGHTS)[:16]

    def unload(self) -> None:
        """Free the model."""
        self.__dict__.pop("model", None)

    def part_with_model(self) -> Encoder:
        """Return this encoder."""
        return self

    def copy_model(self) -> MiniLM:
        """Return a copy of the model, whose weights may be changed."""
        return copy.deepcopy(self.model)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, or zeros for a text without any known token."""
        tokens = self.model.tokenize(texts)
        special = self.model.special
        rows = [row for row, ids in enumerate(tokens) if not special.issuperset(ids)]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        vectors[rows] = self.model.encode_tokens([tokens[row] for row in rows]).cpu().numpy()
        return vectors

    @cached_property
    def model(self) -> MiniLM:
        """The loaded model."""
        from taxoexpan.device import choose_device
        from taxoexpan.features.minilm import load_minilm

        return load_minilm(model_folder()).to(choose_device(self._device))


def model_folder() -> Path:
    """Return the directory of the model's weights and tokenizer."""
    return Path(str(resources.files("taxoexpan"))) / "data" / "encoder"
