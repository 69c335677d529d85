"""Reports about training epochs: terminal, JSON Lines file, and TensorBoard."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.files import check_output
from taxoexpan.progress import write_line
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch


@dataclass(frozen=True)
class TrainingLog:
    """A log of epochs, shown if `progress` is, and in files."""

    progress: bool = False
    path: Path | None = None
    tensorboard: TensorBoardWriter | None = None

    def write(self, epoch: Epoch, is_best: bool) -> None:
        """Report a finished epoch."""
        if self.progress:
            write_line(describe_epoch(f"epoch {epoch.number:>3}", epoch, is_best))
        if self.path is not None:
            with _errors_as_warnings(self.path):
                _append(self.path, json.dumps({**asdict(epoch), "better": is_best}) + "\n")
        if self.tensorboard is not None:
            with _errors_as_warnings(self.tensorboard.folder):
                self.tensorboard.write(epoch.number, _scalars(epoch))

    def close(self) -> None:
        """Close the files after the last epoch."""
        if self.tensorboard is not None:
            with _errors_as_warnings(self.tensorboard.folder):
                self.tensorboard.close()


SILENT = TrainingLog()


@contextmanager
def _errors_as_warnings(path: Path) -> Iterator[None]:
    """Turn write errors into warnings, because an incomplete log must not end a training."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be written: {error.strerror or error}"
        warnings.warn(f"{message}; the training goes on, and its log is incomplete", stacklevel=2)


def _append(path: Path, line: str) -> None:
    """Append the whole line or nothing."""
    content = line.encode()
    with path.open("ab", buffering=0) as file:
        size = file.tell()
        if file.write(content) != len(content):
            file.truncate(size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _scalars(epoch: Epoch) -> dict[str, float]:
    """Return the values that TensorBoard shows as curves."""
    scalars = {"loss": epoch.loss, "learning_rate": epoch.learning_rate, "seconds": epoch.seconds}
    if epoch.validation is not None:
        validation = epoch.validation.as_dict()
        scalars |= {f"validation/{name}": value for name, value in validation.items()}
    return scalars


def describe_metrics(metrics: Metrics) -> str:
    """Return the validation metrics as a string for the terminal."""
    text = f"validation MR {metrics.mr:.1f}  Hit@1 {metrics.hit_at_1:.3f}"
    return f"{text}  MRR {metrics.reciprocal_rank:.3f} (scaled {metrics.mrr:.3f})"


def describe_epoch(name: str, epoch: Epoch, is_best: bool) -> str:
    """Return the line about an epoch for the terminal."""
    text = f"{name}  loss {epoch.loss:.4f}"
    if epoch.validation is not None:
        text += f"  {describe_metrics(epoch.validation)}"
    return text + ("  *" if is_best else "")


class TensorBoardWriter:
    """A writer of the curves of one training to a directory."""

    def __init__(self, folder: Path) -> None:
        check_tensorboard(folder)
        self.folder = folder
        self._writer: Any = None  # its type annotations are unreliable

    def write(self, number: int, scalars: Mapping[str, float]) -> None:
        """Add the values of an epoch, and flush them."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # Hides the later epochs of another run in this directory, so that no curve forks.
            self._writer = SummaryWriter(self.folder, purge_step=number)
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, number)
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


def check_tensorboard(folder: Path) -> None:
    """Refuse a missing TensorBoard or a directory that is not writable, before any work."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"TensorBoard cannot be used here ({error})", fix="pip install tensorboard"
        ) from None
    if not folder.exists():
        check_output(folder, force=True)  # this checks the parent folder
    elif not folder.is_dir():
        raise FormatError(folder, "is a file", fix="give the name of a folder")
    elif not os.access(folder, os.W_OK):
        raise FormatError(folder, "the folder is not writable", fix="choose another one")
