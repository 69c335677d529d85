"""What every encoder of texts can do, and the vectors it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Encoder(ABC):
    """Turns texts into vectors of unit length; what one has no need of does nothing."""

    name: str
    dimension: int

    def show_progress(self, shown: bool) -> None:
        """Whether to show a bar on standard error for what takes long."""

    def learn(self, names: Collection[str]) -> None:
        """Learn what these names mean, where that is not known beforehand."""

    def prepare(self, texts: Sequence[str]) -> None:
        """Get ready for these texts, in one go where it costs much."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text; zeros where nothing is known of it."""

    @abstractmethod
    def fingerprint(self) -> str:
        """What tells its vectors from others, so that a model is used with its own."""

    def save(self, folder: Path) -> None:
        """Keep in a new folder what was learned; where nothing was, there will be no folder."""


def normalize_rows(vectors: Vectors) -> Vectors:
    """Every row at unit length; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
