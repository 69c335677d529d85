"""Runs as a user whom the modes of files and folders bind, unlike root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from taxoexpan.formats.registry import FORMATS
from tests.support.forked_processes import fork_and_wait

NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user may enter and change."""
    folder = Path(tempfile.mkdtemp(prefix="open-", dir="/tmp"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def give_away(path: Path) -> None:
    """Give a file or folder to the user of `run_unprivileged`."""
    if os.getuid() == 0:
        for each in (path, *path.rglob("*")):
            os.chown(each, NOBODY, NOBODY)


def run_unprivileged(run: Callable[[], int]) -> int:
    """Run a function in a process of an ordinary user, and return its exit status."""
    for module in ("conversion", "taxonomy_file"):  # that user may not be able to read Python
        import_module(f"taxoexpan.formats.{module}")
    list(FORMATS.values())  # imports them
    import_module("taxoexpan.expansion")

    def run_as_nobody() -> int:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return run()

    return fork_and_wait(run_as_nobody)
