"""What the encoders with a sentence model of the package share."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxoexpan.features.encoder import Encoder, Vectors

if TYPE_CHECKING:
    from taxoexpan.features.layers import Transformer

DATA = Path(str(resources.files("taxoexpan"))) / "data"
"""The directory of the data of the package."""


class PackagedEncoder(Encoder):
    """An encoder that loads a sentence model of the package for the first text."""

    def __init__(self, device: str = "auto") -> None:
        self._device = device

    @abstractmethod
    def load(self) -> Transformer:
        """Load the model."""

    def keep_states(self, texts: Sequence[str], tuned_layers: int) -> None:
        """Run the layers that stay frozen, for `encode` and for the copies of the model."""
        self.model.freeze_lower_layers(tuned_layers)
        self.model.keep_states(self.model.tokenize(texts))

    def unload(self) -> None:
        """Free the model, with the kept states."""
        self.__dict__.pop("model", None)

    def part_with_model(self) -> Encoder:
        """Return this encoder."""
        return self

    def copy_model(self) -> Transformer:
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
    def model(self) -> Transformer:
        """The loaded model."""
        from taxoexpan.device import choose_device

        return self.load().to(choose_device(self._device))
