"""A lock belongs to one thread of one process, and neither a lock nor a folder is followed."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.files import (
    check_directory,
    check_output,
    output_lock,
    recover_output,
    temporary_folder,
    whole_directory,
    whole_file,
    write_whole,
)
from tests.support.forked_processes import fork, fork_and_wait

OWN = ("part",)
REFUSED = 7


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refused(path: Path) -> int:
    """Return a status that says that every way to write an output is refused."""
    for attempt in (lambda: check_output(path, True), lambda: write_whole({path: b""}, True)):
        with pytest.raises(FormatError, match="another process"):
            attempt()
    recover_output(path)
    return REFUSED


def test_only_one_process_works_on_an_output(tmp_path: Path) -> None:
    path = tmp_path / "model"

    def refused_here_only() -> int:
        write_whole({tmp_path / "other": b""}, force=True)
        return refused(path)

    with output_lock(path):
        assert fork_and_wait(refused_here_only) == REFUSED
        with whole_directory(path, OWN) as folder:  # the process itself may write it
            assert fork_and_wait(refused_here_only) == REFUSED
            assert folder.is_dir()
        assert fork_and_wait(refused_here_only) == REFUSED
    assert names(tmp_path) == ["model", "other"]
    assert fork_and_wait(lambda: check_directory(path, OWN, True)) == 0


def test_another_thread_of_the_same_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with ThreadPoolExecutor(1) as thread:
        with output_lock(path):
            assert thread.submit(refused, path).result() == REFUSED
            write_whole({path: b"new"})
        thread.submit(write_whole, {path: b"newer"}, True).result()
    assert path.read_bytes() == b"newer"
    assert names(tmp_path) == ["model"]


def test_a_process_with_the_same_number_and_host_name_is_another_process(tmp_path: Path) -> None:
    path, lock = tmp_path / "model", tmp_path / ".model.taxoexpan-lock"
    ready, is_ready = os.pipe()

    def hold() -> None:
        with output_lock(path):
            lock.write_text(f"process {os.getppid()} on {platform.node()}")
            os.write(is_ready, b"x")
            signal.pause()

    holder = fork(hold)
    os.read(ready, 1)
    try:
        assert refused(path) == REFUSED
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    write_whole({path: b"new"})
    assert names(tmp_path) == ["model"]


def test_a_forked_process_neither_has_nor_removes_the_lock_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with ExitStack() as stack:
        stack.enter_context(output_lock(path))
        assert fork_and_wait(stack.close) == 0
        assert fork_and_wait(lambda: refused(path)) == REFUSED
    assert names(tmp_path) == []


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    def work() -> None:
        with output_lock(tmp_path / "model"):
            be_killed()

    assert fork_and_wait(work) == signal.SIGKILL
    assert names(tmp_path) == [".model.taxoexpan-lock"]
    with output_lock(tmp_path / "model"):
        pass
    assert names(tmp_path) == []


def to_a_file(lock: Path) -> None:
    lock.symlink_to("target")


def to_nothing(lock: Path) -> None:
    lock.symlink_to("nothing")


@pytest.mark.parametrize("plant", [to_a_file, to_nothing, os.mkfifo, Path.mkdir])
def test_only_a_regular_file_can_be_a_lock(tmp_path: Path, plant: Callable[[Path], object]) -> None:
    path, target = tmp_path / "a.csv", tmp_path / "target"
    target.write_bytes(b"ssh-ed25519 AAAA")
    lock = tmp_path / ".a.csv.taxoexpan-lock"
    plant(lock)
    before = names(tmp_path)
    for attempt in (lambda: check_output(path, True), lambda: write_whole({path: b""}, True)):
        with pytest.raises(FormatError, match="not a regular file") as caught:
            attempt()
        assert caught.value.path == lock
    assert target.read_bytes() == b"ssh-ed25519 AAAA"
    assert names(tmp_path) == before


def test_nothing_is_written_into_a_lock(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    os.link(target, tmp_path / ".a.csv.taxoexpan-lock")
    with whole_file(tmp_path / "a.csv") as file:
        file.write(b"new")
    assert target.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.csv", "target"]


def test_a_temporary_folder_is_removed_at_the_end(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        (folder / "part").touch()
    assert names(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path):
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_the_temporary_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    def work() -> None:
        with temporary_folder(tmp_path) as folder:
            (folder / "part").touch()
            be_killed()

    with temporary_folder(tmp_path) as used:
        assert fork_and_wait(work) == signal.SIGKILL
        assert len(names(tmp_path)) == 2
        with temporary_folder(tmp_path):
            assert len(names(tmp_path)) == 2
        assert names(tmp_path) == [used.name]


def test_planted_temporary_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / ".taxoexpan-link").symlink_to("folder")
    os.mkfifo(tmp_path / ".taxoexpan-pipe")
    os.utime(tmp_path / ".taxoexpan-pipe", (0, 0))
    with temporary_folder(tmp_path) as used:
        assert names(used) == []
    assert names(tmp_path) == [".taxoexpan-link", ".taxoexpan-pipe", "folder"]
    assert names(tmp_path / "folder") == ["file"]
