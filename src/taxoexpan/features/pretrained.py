"""The encoder `pretrained`, a part of the package: MiniLM, pre-trained on taxonomies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxoexpan.features.packaged import DATA, PackagedEncoder
from taxoexpan.files import file_digest

if TYPE_CHECKING:
    from taxoexpan.features.minilm import MiniLM

# Here, because `minilm` imports PyTorch, which takes a second.
DIMENSION = 384
"""The size of a vector, D."""
FOLDER = DATA / "encoder"
"""The directory of the model's weights and tokenizer."""
VOCABULARY = "vocabulary.txt"
"""The file with the tokens, in the model's directory."""
WEIGHTS = "weights.safetensors"
"""The file with the quantized weights, in the model's directory."""


class PretrainedEncoder(PackagedEncoder):
    """The small encoder, which is the default."""

    name = "pretrained"
    dimension = DIMENSION

    def fingerprint(self) -> str:
        """Return a digest of the weights."""
        return file_digest(FOLDER / WEIGHTS)[:16]

    def load(self) -> MiniLM:
        """Load the model."""
        from taxoexpan.features.minilm import load_minilm

        return load_minilm(FOLDER)
