"""Tests of folders, memory and processors."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.diagnosis.machine_resources import (
    cache_state,
    folder_state,
    memory_state,
    processor_count,
)


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "vectors").write_bytes(b"x" * 1000)
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    state = folder_state(tmp_path)
    assert (state.size, state.problem) == (1000, None)
    assert state.free > 0


def test_a_folder_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    assert folder_state(tmp_path / "a" / "b").problem is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert folder_state(tmp_path / "file").problem == "the folder cannot be written to"
    assert folder_state(Path("/proc/taxoexpan")).problem == "the folder cannot be written to"


def test_the_cache_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path))
    state = cache_state()
    assert state is not None
    assert state.path == str(tmp_path)
    monkeypatch.setenv("TAXOEXPAN_CACHE", "")
    assert cache_state() is None


def test_memory_and_processors_are_counted() -> None:
    memory = memory_state()
    assert memory.total is None or memory.total > 2**20
    assert processor_count() >= 1
