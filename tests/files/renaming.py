"""File systems that can rename less than this one, and signals between two renames."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from taxoexpan.files import atomic_rename


class Renaming:
    """Changes what the system can do; `before_each` is called before every rename of a new file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.before_each: Callable[[], object] = lambda: None
        self.allows_links = True
        for module in ("staged_files", "whole_outputs"):
            name = f"taxoexpan.files.{module}.rename_new"
            monkeypatch.setattr(name, self._announced(atomic_rename.rename_new))

    def _announced(self, rename: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def renamed(source: Path, target: Path) -> None:
            self.before_each()
            rename(source, target)

        return renamed

    def refuse_flags(self) -> None:
        """Refuse the system calls, as NFS does."""
        self._monkeypatch.setattr(atomic_rename, "_system_call", lambda: None)

    def refuse_links(self) -> None:
        """Refuse hard links, as FAT does."""

        def link(*_: Any, **__: Any) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        self._monkeypatch.setattr(os, "link", link)
        self.allows_links = False


@contextmanager
def handled(number: signal.Signals) -> Iterator[None]:
    """Raise `KeyboardInterrupt` on a signal."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def hidden(folder: Path) -> list[str]:
    """Return the hidden names in a folder, such as those of temporary files."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
