from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from full_disk import no_file_larger_than
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.curation.cleaning.fold_files import FoldFiles, remove_folds
from taxoexpan.curation.cleaning.fold_results import FoldResult, Reason, RelationScores
from taxoexpan.errors import FormatError

COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two saved folds."""
    folder = tmp_path_factory.mktemp("folds")
    rng = np.random.default_rng(0)
    for number in (1, 2):
        whole = [rng.integers(0, 100, COUNT) for _ in range(4)]
        part = [rng.random(COUNT) for _ in range(4)]
        scores = RelationScores(*whole[:3], part[0], whole[3], *part[1:])
        reasons = tuple(Reason(i, i + 1, {"known": True, "words": ["a"] * i}) for i in range(5))
        FoldFiles(folder, "x").save(number, FoldResult(scores, reasons))
    return folder


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_fold_is_refused_or_read_unchanged(folder: Path, data: st.DataObject) -> None:
    path = folder / "fold-2.npz"
    whole = path.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:position]
    if data.draw(st.booleans()):
        flipped = whole[position] ^ (1 << data.draw(st.integers(0, 7)))
        damaged += bytes([flipped]) + whole[position + 1 :]
    other = folder.with_name("damaged")
    other.mkdir(exist_ok=True)
    (other / path.name).write_bytes(damaged)
    with np.load(path) as columns:
        ranks = columns["ranks"]
    try:
        loaded = FoldFiles(other, "x").load()
    except FormatError as error:
        assert "fold-2.npz" in str(error)  # noqa: PT017
        assert "delete" in str(error)  # noqa: PT017
    else:
        assert np.array_equal(loaded[2].scores.ranks, ranks)


@pytest.mark.parametrize("missing", ["better_confidences", "reasons"])
def test_a_fold_with_a_missing_column_is_refused_with_a_remedy(
    folder: Path, tmp_path: Path, missing: str
) -> None:
    for path in folder.iterdir():
        with np.load(path) as columns:
            rest = {name: columns[name] for name in columns.files if name != missing}
        np.savez(tmp_path / path.name, **rest)
    message = f"fold-1.npz.*{missing}.*delete it to compute it again"
    with pytest.raises(FormatError, match=message):
        FoldFiles(tmp_path, "x").load()


def test_a_pipe_deep_reasons_and_infinite_scores_are_refused(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fold-1.npz")
    with pytest.raises(FormatError, match=r"fold-1.npz.*not a regular file.*delete it"):
        FoldFiles(tmp_path, "x").load()
    (tmp_path / "fold-1.npz").unlink()
    with np.load(folder / "fold-1.npz") as stored:
        columns = dict(stored)
    infinite = np.full(COUNT, -np.inf)
    for name, other in (
        ("reasons", np.frombuffer(b"[" * 100_000, np.uint8)),
        ("log_scores", infinite),
    ):
        np.savez(tmp_path / "fold-1.npz", **{**columns, name: other})
        with pytest.raises(FormatError, match=r"fold-1.npz.*delete it to compute it again"):
            FoldFiles(tmp_path, "x").load()


def test_a_fold_with_columns_of_different_lengths_is_refused(tmp_path: Path) -> None:
    whole, part = np.arange(3), np.arange(3) * 0.1
    scores = RelationScores(whole, whole, whole[:2], part, whole, part, part, part)
    FoldFiles(tmp_path, "x").save(1, FoldResult(scores))
    with pytest.raises(FormatError, match="ranks has another length"):
        FoldFiles(tmp_path, "x").load()


def test_remove_folds_deletes_nothing_else(tmp_path: Path) -> None:
    for name in ("fold-1.npz", "fold-12.npz", "fold-x.npz"):
        (tmp_path / name).touch()
    remove_folds(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fold-x.npz"]
    remove_folds(tmp_path / "none")


def test_a_full_disk_leaves_no_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folds"
    whole, part = np.arange(3), np.arange(3) * 0.1
    scores = RelationScores(whole, whole, whole, part, whole, part, part, part)
    with no_file_larger_than(10), pytest.raises(FormatError, match="File too large"):
        FoldFiles(folder, "x").save(1, FoldResult(scores))
    assert list(tmp_path.iterdir()) == []
