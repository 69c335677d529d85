"""The interface of all encoders, which turn texts into vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.features.sentence_model import SentenceModel

Vectors = NDArray[np.float32]


class Encoder(ABC):
    """An interface that turns texts into unit vectors; optional methods do nothing."""

    name: str
    dimension: int

    def show_progress(self, shown: bool) -> None:
        """Show or hide progress bars on standard error."""

    def prepare(self, texts: Sequence[str]) -> None:
        """Load the data for these texts, if it is expensive to load it for each call."""

    def part_with_model(self) -> Encoder | None:
        """Return the part of this encoder that has a sentence model, if there is one."""
        return None

    def copy_model(self) -> SentenceModel:
        """Return a copy of the sentence model, whose weights may be changed."""
        raise ConfigurationError(f"the encoder {self.name!r} has no sentence model")

    def keep_states(self, texts: Sequence[str], tuned_layers: int) -> None:
        """Compute what a fine-tuning of the upper layers does not change, for the model's copies.

        `encode` uses it too, until the encoder is unloaded.
        """

    def unload(self) -> None:
        """Free the memory of data that the next call of encode can load again."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, or zeros for an unknown text: [N] → [N, D]."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a digest of the data that the vectors depend on; a saved model checks it."""


def normalize_rows(vectors: Vectors) -> Vectors:
    """Scale every row to unit length; rows of zeros stay rows of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
