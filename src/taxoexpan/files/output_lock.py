"""A lock on an output, for work during which no other process may work on the same one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.files.deferred_signals import signals_deferred
from taxoexpan.files.temporary_names import Temporary, reserve


@contextmanager
def output_lock(path: Path, work: str) -> Iterator[None]:
    """Hold the lock on an output; raise an error if another process that does `work` has it.

    Where the file system has no locks, nothing is refused.
    """
    held: Temporary | None = None
    try:
        with signals_deferred():
            held = _reserve(path)
        if held is None:
            message = f"{work} with this output is running"
            raise FormatError(path, f"{message}; wait until it ends, or choose another name")
        yield
    finally:
        if held is not None:
            with suppress(OSError):
                held.path.unlink(missing_ok=True)
            held.release()


def _reserve(path: Path) -> Temporary | None:
    try:
        return reserve(path.resolve())
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
