from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.curation.finding_formats.annotated_paths import WORKSPACES, annotated_path


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WORKSPACES:
        monkeypatch.delenv(name, raising=False)


def test_a_path_is_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert annotated_path(Path("a/b.csv")) == Path("a/b.csv")
    assert annotated_path(tmp_path / "a" / "b.csv") == Path("a/b.csv")


@pytest.mark.parametrize("name", WORKSPACES)
def test_the_repository_of_a_pipeline_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv(name, str(tmp_path))
    assert annotated_path(Path("b.csv")) == Path("data/b.csv")


def test_a_file_elsewhere_keeps_its_absolute_path_and_a_stream_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert annotated_path(tmp_path / "b.csv") == tmp_path / "b.csv"
    assert annotated_path(Path("-")) is None
    assert annotated_path(None) is None
