"""The folders, the memory and the processors that a command can use."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FolderState:
    """A folder that commands write to; sizes are in bytes."""

    path: str
    size: int
    free: int
    problem: str | None


@dataclass(frozen=True)
class MemoryState:
    """The memory in bytes, within the limit of a container; None if it is unknown."""

    total: int | None
    available: int | None


def cache_state() -> FolderState | None:
    """Return the state of the folder of cached vectors; None if nothing is cached."""
    from taxoexpan.features.cache import cache_folder

    folder = cache_folder()
    return None if folder is None else folder_state(folder)


def temporary_state() -> FolderState | None:
    """Return the state of the folder for temporary files; None if there is none."""
    try:
        return folder_state(Path(tempfile.gettempdir()), measured=False)
    except FileNotFoundError:
        return None


def folder_state(folder: Path, measured: bool = True) -> FolderState:
    """Return the size of a folder, the free space, and whether it can be written to.

    A folder that does not exist yet is judged by the folder that it will be created in.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    size = sum(_size(path) for path in folder.rglob("*")) if measured else 0
    problem = None if _is_writable(existing) else "the folder cannot be written to"
    return FolderState(str(folder), size, shutil.disk_usage(existing).free, problem)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size if path.is_file() else 0
    return 0


def _is_writable(folder: Path) -> bool:
    """Whether a file can be created; permissions do not tell this of read-only file systems."""
    if not folder.is_dir():
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def memory_state() -> MemoryState:
    """Return the memory of the machine, or of the container if that has less."""
    total = available = None
    with suppress(ValueError, OSError, AttributeError):  # Windows has no sysconf
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        available = int(fields["MemAvailable"].split()[0]) * 1024
    limit = _container_limit()
    if limit is not None and total is not None and limit < total:
        return MemoryState(limit, None)
    return MemoryState(total, available)


def _container_limit() -> int | None:
    """Return the limit of memory that Linux sets for a container."""
    with suppress(OSError, ValueError):
        return int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    return None


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
