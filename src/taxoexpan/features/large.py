"""The encoder `large`: MPNet, pre-trained on taxonomies, as a difference to its published weights.

The package has the difference; five packages have the published weights (`large_parts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxoexpan.features.large_base import DIGESTS, WEIGHTS, base_folder
from taxoexpan.features.packaged import DATA, PackagedEncoder
from taxoexpan.files import file_digest
from taxoexpan.large_parts import refuse_missing_parts

if TYPE_CHECKING:
    from taxoexpan.features.mpnet import MPNet

DIFFERENCE = DATA / "large" / "difference.safetensors"
"""The file with the difference to the published weights."""


class LargeEncoder(PackagedEncoder):
    """The large encoder, for those with a GPU or patience."""

    name = "large"
    dimension = 768

    def __init__(self, device: str = "auto") -> None:
        super().__init__(device)
        refuse_missing_parts()

    def fingerprint(self) -> str:
        """Return the digests of the published weights and of the difference."""
        return f"{DIGESTS[WEIGHTS][:16]} {file_digest(DIFFERENCE)}"

    def load(self) -> MPNet:
        """Load the model."""
        from taxoexpan.features.mpnet import load_mpnet

        with base_folder() as folder:
            return load_mpnet(folder, DIFFERENCE)
