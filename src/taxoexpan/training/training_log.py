"""Reports on the epochs of a training."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from taxoexpan.errors import FormatError
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
        following: the long work that follows the epochs, if any; an estimate of time names it.
    """

    progress: bool = False
    path: Path | None = None
    tensorboard: TensorBoardWriter | None = None
    following: str = ""

    def write(self, epoch: Epoch, is_best: bool) -> None:
        """Report an epoch that is finished."""
        if self.progress:
            write_line(_line(epoch, is_best))
        if self.path is not None:
            with _errors_as_warnings():
                _append(self.path, json.dumps({**asdict(epoch), "better": is_best}) + "\n")
        if self.tensorboard is not None:
            with _errors_as_warnings():
                self.tensorboard.write(epoch.number, _scalars(epoch))

    def close(self) -> None:
        """Close the files after the last epoch."""
        if self.tensorboard is not None:
            with _errors_as_warnings():
                self.tensorboard.close()


SILENT = TrainingLog()


@contextmanager
def _errors_as_warnings() -> Iterator[None]:
    """Warn if a log cannot be written, because a training must not end for that."""
    try:
        yield
    except FormatError as error:
        warnings.warn(f"{error}; the training goes on, and its log is incomplete", stacklevel=2)


def _append(path: Path, line: str) -> None:
    """Append a whole line, or nothing."""
    content = line.encode()
    try:
        with path.open("ab", buffering=0) as file:
            size = file.tell()
            if file.write(content) != len(content):
                file.truncate(size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None


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
