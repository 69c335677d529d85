"""Reports on the epochs of a training."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from taxoexpan.progress import write_line
from taxoexpan.training.history import Epoch
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.tensorboard import TensorBoardWriter


@dataclass(frozen=True)
class TrainingLog:
    """Writes every epoch to the terminal, a JSON Lines file and TensorBoard, as far as asked for.

    Args:
        progress: whether to write to the terminal.
        path: the JSON Lines file to append to.
        tensorboard: the writer of TensorBoard's files.
    """

    progress: bool = False
    path: Path | None = None
    tensorboard: TensorBoardWriter | None = None

    def write(self, epoch: Epoch, is_best: bool) -> None:
        """Report an epoch that is finished."""
        if self.progress:
            write_line(_line(epoch, is_best))
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(epoch), "better": is_best}) + "\n")
        if self.tensorboard is not None:
            self.tensorboard.write(epoch.number, _scalars(epoch))

    def close(self) -> None:
        """Close the files after the last epoch."""
        if self.tensorboard is not None:
            self.tensorboard.close()


SILENT = TrainingLog()


def _scalars(epoch: Epoch) -> dict[str, float]:
    """Return the values that TensorBoard shows as curves."""
    scalars = {"loss": epoch.loss, "learning_rate": epoch.learning_rate, "seconds": epoch.seconds}
    if epoch.validation is not None:
        validation = epoch.validation.as_dict()
        scalars |= {f"validation/{name}": value for name, value in validation.items()}
    return scalars


def describe_metrics(metrics: Metrics) -> str:
    """Return the validation figures that a terminal shows."""
    text = f"validation MR {metrics.mr:.1f}  Hit@1 {metrics.hit_at_1:.3f}"
    return f"{text}  MRR {metrics.reciprocal_rank:.3f} (scaled {metrics.mrr:.3f})"


def _line(epoch: Epoch, is_best: bool) -> str:
    text = f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}"
    if epoch.validation is not None:
        text += f"  {describe_metrics(epoch.validation)}"
    return text + ("  *" if is_best else "")
