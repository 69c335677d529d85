"""TensorBoard's event files, with the metrics of every epoch; TensorBoard is optional."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.files import check_output


class TensorBoardWriter:
    """Writes the curves of one training to a folder."""

    def __init__(self, folder: Path) -> None:
        check_tensorboard(folder)
        from torch.utils.tensorboard import SummaryWriter

        self._folder, self._has_started = folder, False
        with self._translate_errors():
            self._writer: Any = SummaryWriter(folder)  # its type annotations are unreliable

    def write(self, number: int, scalars: Mapping[str, float]) -> None:
        """Add the values of an epoch, and make them visible at once."""
        with self._translate_errors():
            if not self._has_started:
                self._start(number)
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, number)
            self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        with self._translate_errors():
            self._writer.close()

    def _start(self, number: int) -> None:
        """Hide the later epochs of another run in this folder, so that no curve forks."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = Event(step=number, session_log=SessionLog(status=SessionLog.START))
        self._writer.file_writer.add_event(start)
        self._has_started = True

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise FormatError(self._folder, message) from None


def check_tensorboard(folder: Path) -> None:
    """Raise an error before any work if TensorBoard is missing or the folder is not writable."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"TensorBoard cannot be used here ({error}); pip install tensorboard"
        ) from None
    if not folder.exists():
        check_output(folder, force=True)  # this checks the parent folder
    elif not folder.is_dir():
        raise FormatError(folder, "is a file; give the name of a folder")
    elif not os.access(folder, os.W_OK):
        raise FormatError(folder, "the folder is not writable; choose another one")
