from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.metrics import metrics_of
from taxoexpan.reproduce.cells import find_cells
from taxoexpan.reproduce.figures import FIGURE_NAMES, draw, picture
from taxoexpan.reproduce.running import folder_of

pytest.importorskip("matplotlib")
CELLS = {name: name for name in FIGURE_NAMES} | {"cases": "main/taxoexpan*"}


def make_runs(runs: Path, pattern: str, features: str = "static") -> None:
    """Folders as if the cells had been run with two seeds."""
    task = cast(Any, SimpleNamespace(name="made up", features=features))
    for place, cell in enumerate(find_cells([pattern])):
        for seed in (0, 1):
            folder = folder_of(runs, task, cell, seed)
            folder.mkdir(parents=True, exist_ok=True)
            ranks = [np.array([1.0 + place + seed]), np.array([2.0, 40.0]), np.array([500.0])]
            record = {
                "task": {"name": "made up", "features": features},
                "test": metrics_of(ranks).as_dict(),
                "relations": 1000 * (place + 1),
                "seconds_to_fit": 2.0 * place + 1,
                "seconds_to_place": {"a machine": 0.5, "another": 4.0},
                "device": "a machine",
            }
            (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
            counts = np.array([1, 2, 1])
            np.savez(folder / "ranks.npz", test=np.concatenate(ranks), test_counts=counts)


@pytest.mark.parametrize("name", FIGURE_NAMES)
def test_the_same_runs_give_the_same_pictures(name: str, tmp_path: Path) -> None:
    make_runs(tmp_path, CELLS[name])
    for suffix, beginning in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        one, other = (picture(draw(name, tmp_path), Path(f"{name}.{suffix}")) for _ in range(2))
        assert one == other
        assert one.startswith(beginning)


def test_curves_are_those_of_the_runs(tmp_path: Path) -> None:
    make_runs(tmp_path, "scalability")
    left, right = draw("scalability", tmp_path).axes
    assert left.lines[0].get_xdata().tolist() == [1000, 2000, 3000, 4000, 5000]
    assert left.lines[0].get_ydata().tolist() == [1, 3, 5, 7, 9]
    np.testing.assert_allclose(left.lines[1].get_ydata(), [1, 3, 5, 7, 9])
    (bars,) = right.containers
    assert [bar.get_height() for bar in bars] == [0.5, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["a machine", "another"]
    assert list(right.lines[0].get_ydata()) == [30, 30]  # what the paper says


def test_a_point_of_the_sensitivity_is_the_mean_over_seeds(tmp_path: Path) -> None:
    make_runs(tmp_path, "sensitivity")
    axes = draw("sensitivity", tmp_path).axes
    curves = [line for line, _, _ in axes[1].containers]
    assert [line.get_xdata().tolist() for line in curves] == [[1, 2, 4, 6, 8]] * 3
    # Of three queries the first is found by seed 0 of the first cell alone.
    first, _, (bars,) = axes[0].containers[0]
    assert first.get_ydata()[0] == pytest.approx((1 / 3 + 0) / 2)
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * np.std([1 / 3, 0], ddof=1))
    # The paper's own choice has a star, as high as published.
    stars = [each.get_offsets().tolist() for each in axes[1].collections[1::2]]
    assert stars == [[[4, 0.2121]], [[4, 0.3823]], [[4, 0.6929]]]


def test_cases_show_the_models_that_were_run(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/taxoexpan-best")
    (axis,) = draw("cases", tmp_path).axes
    (bars,) = axis.containers
    assert bars.get_label() == "TaxoExpan, preset best"
    assert sum(bar.get_height() for bar in bars) == 3


def test_vectors_choose_among_runs(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/taxoexpan*", "static")
    make_runs(tmp_path, "main/taxoexpan", "other")
    assert len(draw("cases", tmp_path, "other").axes[0].containers) == 1
    assert len(draw("cases", tmp_path, "static").axes[0].containers) == 3


@pytest.mark.parametrize("name", FIGURE_NAMES)
def test_without_runs_there_is_no_figure(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no run of .*; run (it|them) first, with --task"):
        draw(name, tmp_path)


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'heat'; choose one of loss, sensitivity"):
        draw("heat", tmp_path)


def test_without_matplotlib_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match=r"pip install taxoexpan\[plots\]"):
        draw("loss", tmp_path)
