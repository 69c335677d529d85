"""Runs of the command line with Ray, and the processes that belong to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

FIRST = ("cashew", "white", "tomato", "barley", "pea", "oat", "rye", "green", "sweet", "cold")
LAST = ("milk", "tea", "soup", "bread", "juice")


def new_concepts(path: Path, count: int) -> Path:
    """Write a list of new foods, all different."""
    names = (f"{FIRST[i % len(FIRST)]} {LAST[i % len(LAST)]} number {i}" for i in range(count))
    path.write_text("\n".join(names) + "\n", encoding="utf-8")
    return path


def parents() -> dict[int, int]:
    """The parent of each running process."""
    running = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                running[int(path.parent.name)] = int(owner)
    return running


def descendants(ancestor: int) -> set[int]:
    """The running processes that a process has started, directly or not."""
    parent_of, found = parents(), {ancestor}
    while True:
        more = {pid for pid, parent in parent_of.items() if parent in found} | found
        if more == found:
            return found - {ancestor}
        found = more


def workers_of(process: int) -> set[int]:
    """The processes that hold the model."""
    found = set()
    for pid in descendants(process):
        with suppress(OSError):
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
            found |= {pid} if title.startswith(b"ray::PlacementWorker") else set()
    return found


def wait_until(true: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def running_cli(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command; afterwards no process and no temporary folder of it may be left."""
    mark = f"TAXOEXPAN_TEST_RUN={uuid4()}"
    with TemporaryDirectory(prefix="tx", dir="/tmp") as temporary:
        process = subprocess.Popen(
            [sys.executable, "-m", "taxoexpan.cli.main", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"TMPDIR": temporary} | dict([mark.split("=")]),
        )
        try:
            yield process
            wait_until(lambda: not marked(mark), 60)
            assert list(Path(temporary).glob("taxoexpan-*")) == []
        finally:
            for pid in marked(mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.communicate()


def marked(variable: str) -> list[int]:
    """The running processes with this variable, which processes inherit."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if variable.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found
