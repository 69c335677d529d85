"""Only one process at a time works on an output."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from forked_processes import fork_and_wait
from renaming import hidden

from taxoexpan.errors import FormatError
from taxoexpan.files import output_lock, whole_directory


def test_a_second_process_is_refused_until_the_first_one_ends(tmp_path: Path) -> None:
    path = tmp_path / "model"
    message = f"{path}: another training with this output is running; wait until it ends, or"
    with output_lock(path, "another training"):
        with pytest.raises(FormatError) as caught, output_lock(path, "another training"):
            pytest.fail("it was not refused")
        assert str(caught.value) == f"{message} choose another name"
        with output_lock(tmp_path / "model.2", "another training"):
            pass
    with output_lock(path, "another training"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "model"

    def be_killed() -> None:
        with output_lock(path, "another training"):
            os.kill(os.getpid(), signal.SIGKILL)

    assert fork_and_wait(be_killed) == signal.SIGKILL
    assert len(hidden(tmp_path)) == 1
    with output_lock(path, "another training"):
        pass
    assert fork_and_wait(be_killed) == signal.SIGKILL
    with whole_directory(path, ["part"]):
        pass
    assert hidden(tmp_path) == []


def test_writing_the_output_keeps_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with output_lock(path, "another training"):
        with whole_directory(path, ["part"]):
            pass
        with pytest.raises(FormatError, match="is running"), output_lock(path, "a training"):
            pass
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_folder_without_a_place_for_the_lock_is_an_error() -> None:
    with pytest.raises(FormatError, match="cannot be written: "), output_lock(Path("/proc/m"), "a"):
        pass
