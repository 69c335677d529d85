"""TensorBoard's event files, for those who have it: the figures of every epoch as curves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.files import refuse_overwriting


class TensorBoardWriter:
    """A folder with the curves of one training; TensorBoard need not be installed otherwise."""

    def __init__(self, folder: Path) -> None:
        check_tensorboard(folder)
        from torch.utils.tensorboard import SummaryWriter

        self._folder, self._begun = folder, False
        with self._telling_what_failed():
            self._writer: Any = SummaryWriter(folder)  # its types are not to be relied on

    def tell(self, number: int, figures: Mapping[str, float]) -> None:
        """Add the figures of an epoch, to be seen at once."""
        with self._telling_what_failed():
            if not self._begun:
                self._begin(number)
            for name, value in figures.items():
                self._writer.add_scalar(name, value, number)
            self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        with self._telling_what_failed():
            self._writer.close()

    def _begin(self, number: int) -> None:
        """Hide what another run left in this folder from this epoch on, so that no curve forks."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = Event(step=number, session_log=SessionLog(status=SessionLog.START))
        self._writer.file_writer.add_event(start)
        self._begun = True

    @contextmanager
    def _telling_what_failed(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise FormatError(self._folder, message) from None


def check_tensorboard(folder: Path) -> None:
    """Refuse, before any work is done, what would fail later: no TensorBoard, or no such folder."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"TensorBoard cannot be used here ({error}); pip install tensorboard"
        ) from None
    if not folder.exists():
        refuse_overwriting(folder, force=True)  # which looks at the folder around it
    elif not folder.is_dir():
        raise FormatError(folder, "is a file; give the name of a folder")
    elif not os.access(folder, os.W_OK):
        raise FormatError(folder, "the folder cannot be written in; choose another")
