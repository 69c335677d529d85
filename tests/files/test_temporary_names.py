from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from forked_processes import fork_and_wait

from taxoexpan.files import temporary_folder, whole_directory, whole_file, write_whole
from taxoexpan.files.temporary_names import new_file, new_folder, remove_leftovers


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_next_write_removes_the_file_of_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    def write() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            be_killed()

    assert fork_and_wait(write) == signal.SIGKILL
    assert len(names(tmp_path)) == 1
    write_whole({tmp_path / "b.csv": b"another output"})
    assert len(names(tmp_path)) == 2
    write_whole({path: b"whole"})
    assert names(tmp_path) == ["a.csv", "b.csv"]


def test_the_next_write_removes_the_folder_of_a_killed_process(tmp_path: Path) -> None:
    def write() -> None:
        with whole_directory(tmp_path / "model", ["part"]) as folder:
            (folder / "part").touch()
            be_killed()

    assert fork_and_wait(write) == signal.SIGKILL
    assert len(names(tmp_path)) == 1
    with whole_directory(tmp_path / "model", ["part"]):
        pass
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("create", [new_file, new_folder])
def test_what_a_running_process_writes_stays(tmp_path: Path, create: type[object]) -> None:
    target = tmp_path / "model"
    temporary = create(target)
    before = names(tmp_path)
    remove_leftovers(target)
    assert fork_and_wait(lambda: remove_leftovers(target)) == 0
    assert names(tmp_path) == before
    temporary.release()
    remove_leftovers(target)
    assert names(tmp_path) == []


def test_files_of_the_user_stay(tmp_path: Path) -> None:
    own = [
        ".model.backup",
        ".model.00c0ffee",
        "model.taxoexpan-new",
        ".model2.00c0ffee.taxoexpan-new",
    ]
    for name in own:
        (tmp_path / name).touch()
    (tmp_path / ".model.00c0ffee.taxoexpan-new").symlink_to(tmp_path / own[0])
    remove_leftovers(tmp_path / "model")
    assert set(own) < set(names(tmp_path))


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)
    write_whole({path: b"new"})
    write_whole({path: b"newer"}, force=True)
    assert names(tmp_path) == [path.name]


def test_a_temporary_folder_is_removed_even_if_its_process_was_killed(tmp_path: Path) -> None:
    def work() -> None:
        with temporary_folder(tmp_path) as folder:
            (folder / "part").touch()
            be_killed()

    assert fork_and_wait(work) == signal.SIGKILL
    (tmp_path / "taxoexpan-mine").mkdir()
    with temporary_folder(tmp_path) as first, temporary_folder(tmp_path) as second:
        assert names(tmp_path) == sorted([first.name, second.name, "taxoexpan-mine"])
    assert names(tmp_path) == ["taxoexpan-mine"]
