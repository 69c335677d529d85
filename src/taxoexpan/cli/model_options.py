"""The options for commands that use a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.training_messages import print_training_advice
from taxoexpan.option_declarations import argument, option
from taxoexpan.shared_options import DeviceOptions

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan


@dataclass(frozen=True, kw_only=True)
class ModelOptions(DeviceOptions):
    """A trained model, and the device that it runs on."""

    model: Path = argument("MODEL", "model directory, written by train")
    features: str | None = option(
        "location of the encoder's files, if they have moved since the training, for example "
        "vectors:NEW_PATH",
        metavar="ENCODER",
    )

    def load(self) -> TaxoExpan:
        """Load the model, and advise more training if its taxonomy has grown much."""
        from taxoexpan.model import TaxoExpan

        model = TaxoExpan.load(self.model, self.device, self.features)
        print_training_advice(model)
        return model
