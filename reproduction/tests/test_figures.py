from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from reproduction.experiments import FIGURES, find_experiments
from reproduction.figures import DRAW, draw, image_bytes
from reproduction.page import INTRODUCTION, page_text
from reproduction.runs import RunRecord, TaskInfo, run_folder
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.training.metrics import compute_metrics

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]


def make_runs(
    runs: Path,
    pattern: str,
    features: str = "static",
    name: str = "made up",
    seeds: Sequence[int] = (0, 1),
) -> None:
    """Make the folders of runs that do not exist yet."""
    task = cast(Any, SimpleNamespace(name=name, features=features))
    for place, experiment in enumerate(find_experiments([pattern])):
        for seed in seeds:
            folder = run_folder(runs, task, experiment, seed)
            if folder.exists():
                continue
            folder.mkdir(parents=True)
            ranks = [np.array([1.0 + place + seed]), np.array([2.0, 40.0]), np.array([500.0])]
            record = RunRecord(
                experiment=experiment,
                seed=seed,
                task=TaskInfo(name, features, f"{name}-{features}"),
                concepts=3,
                relations=1000 * (place + 1),
                test=compute_metrics(ranks),
                test_ties_as_best=compute_metrics(ranks),
                validation=compute_metrics(ranks),
                best_epoch=None,
                epochs=None,
                seconds_to_fit=2.0 * place + 1,
                seconds_to_place={"a machine": 0.5, "another": 4.0},
                device="a machine",
                versions={"python": "3"},
            )
            (folder / "run.json").write_text(record.as_json(), encoding="utf-8")
            counts = np.array([1, 2, 1])
            np.savez(folder / "ranks.npz", test=np.concatenate(ranks), test_counts=counts)


def change_figure(runs: Path, experiment: str, figure: str, value: float) -> None:
    """Let all runs of an experiment have this result."""
    for file in runs.glob("*/*/*/run.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["experiment"]["name"] == experiment:
            record["test"][figure] = value
            file.write_text(json.dumps(record), encoding="utf-8")


def test_all_figures_can_be_drawn() -> None:
    assert [*DRAW, "cases"] == list(FIGURES)


@pytest.mark.parametrize(
    ("name", "suffix", "beginning"),
    [
        ("cases", "png", b"\x89PNG"),
        ("scalability", "svg", b"<?xml"),
        *(
            pytest.param(name, "svg", b"<?xml", marks=pytest.mark.slow)
            for name in list(FIGURES)[1:]
        ),
    ],
)
def test_the_same_runs_give_the_same_images(
    name: str, suffix: str, beginning: bytes, tmp_path: Path
) -> None:
    make_runs(tmp_path, FIGURES[name])
    one, other = (image_bytes(draw(name, tmp_path), Path(f"{name}.{suffix}")) for _ in range(2))
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
    # Of three queries the first is found by seed 0 of the first experiment alone.
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


def test_losses_are_in_the_papers_order(tmp_path: Path) -> None:
    make_runs(tmp_path, "loss")
    _, labels = draw("loss", tmp_path).axes[0].get_legend_handles_labels()
    assert [label for label in labels if label != "paper"] == [
        f"{loss}, {noise}% rewired" for loss in ("InfoNCE", "BCE") for noise in (0, 10, 30)
    ]


def test_vectors_choose_among_runs(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/taxoexpan*", "static")
    make_runs(tmp_path, "main/taxoexpan", "transformer:x")
    assert len(draw("cases", tmp_path, "transformer:x").axes[0].containers) == 1
    assert len(draw("cases", tmp_path, "static").axes[0].containers) == 3
    assert len(draw("cases", tmp_path, "made-up-static").axes[0].containers) == 3
    several = (
        r"several tasks for cases; choose one with --vectors NAME: "
        r"made-up-static \(static\), made-up-transformer-x \(transformer:x\)$"
    )
    with pytest.raises(ConfigurationError, match=several):
        draw("cases", tmp_path)
    unknown = (
        r"the vectors 'word2vec'; choose one of made-up-static \(static\), made-up-transformer-x"
    )
    with pytest.raises(ConfigurationError, match=unknown):
        draw("cases", tmp_path, "word2vec")


def test_tasks_with_the_same_vectors_are_told_apart_by_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_runs(tmp_path, "scalability", name=name)
    with pytest.raises(ConfigurationError, match=r"one-static \(static\), two-static \(static\)"):
        draw("scalability", tmp_path, "static")
    assert "two, static" in drawn_title(tmp_path, "scalability", "two-static")


def test_a_figure_is_of_one_task(tmp_path: Path) -> None:
    # The sensitivity and the loss figures share this run.
    make_runs(tmp_path, "main/taxoexpan", "a", seeds=[0])
    for name in ("sensitivity", "loss"):
        make_runs(tmp_path, name, "b")
        assert drawn_title(tmp_path, name).endswith("made up, b")
    change_figure(tmp_path, "main/taxoexpan", "hit_at_1", 9.0)
    heads = draw("sensitivity", tmp_path).axes[1].containers[0][0]
    assert max(heads.get_ydata()) < 1
    with pytest.raises(FormatError, match=r"no run of loss/.* for made-up-a; run it first"):
        draw("loss", tmp_path, "a")


def test_an_incomplete_figure_is_refused(tmp_path: Path) -> None:
    make_runs(tmp_path, "scalability/leaves-0*")
    make_runs(tmp_path, "scalability/leaves-100", "other")
    with pytest.raises(
        FormatError, match="no run of scalability/leaves-100 for made-up-static; run"
    ):
        draw("scalability", tmp_path)


def drawn_title(runs: Path, name: str, vectors: str | None = None) -> str:
    figure = draw(name, runs, vectors)
    return cast(str, figure.get_suptitle())


@pytest.mark.parametrize("name", FIGURES)
def test_without_runs_there_is_no_figure(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no runs? of .*; run (it|them) first"):
        draw(name, tmp_path)


def test_the_page_names_every_task(tmp_path: Path) -> None:
    for name, features in (("one", "static"), ("two", "static"), ("two", "other")):
        make_runs(tmp_path, "main/closest-*", features, name)
    page = page_text(tmp_path)
    assert "based on 12 runs." in page
    assert "- `one` with `static`: sha256 one-static…" in page
    assert "- `two` with `static`: sha256 two-static…" in page
    assert "- `two` with `other`: sha256 two-other…" in page


def test_the_page_shows_figures_with_all_their_runs(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/closest-*")
    make_runs(tmp_path, "sensitivity/heads-[12]")
    page = page_text(tmp_path, "there")
    assert "## Hyper-parameters" in page
    assert ".svg" not in page
    assert "## Ranks of the true parents" not in page
    make_runs(tmp_path, "sensitivity")
    make_runs(tmp_path, "main/taxoexpan-best")
    page = page_text(tmp_path, "there")
    assert page.count(".svg") == 2
    assert "![Hyper-parameters](there/sensitivity.svg)" in page
    assert "![ranks](there/cases.svg)\n\n- TaxoExpan, preset best, made up, `static`:" in page


def test_a_table_of_other_tables_runs_is_not_on_the_page(tmp_path: Path) -> None:
    make_runs(tmp_path, "main")
    page = page_text(tmp_path)
    assert "## Overall results" in page
    assert "## Architectures" not in page


def test_equal_figures_are_equal_in_the_order(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/closest-*")
    make_runs(tmp_path, "main/parent-mlp")
    for experiment, value in (
        ("closest-parent", 0.5),
        ("closest-neighbor", 0.5),
        ("parent-mlp", 0.9),
    ):
        change_figure(tmp_path, f"main/{experiment}", "mrr", value)
    # Of three pairs two are as in the paper, and one is undecided.
    order = "ParentMLP > Closest-Parent = Closest-Neighbor (83% of the pairs as in the paper)"
    assert f"- made-up-static: {order}" in page_text(tmp_path)
    change_figure(tmp_path, "main/parent-mlp", "mrr", 0.1)
    order = "Closest-Parent = Closest-Neighbor > ParentMLP (17% of the pairs as in the paper)"
    assert f"- made-up-static: {order}" in page_text(tmp_path)


def test_the_page_begins_with_the_introduction(tmp_path: Path) -> None:
    make_runs(tmp_path, "main/popularity")
    introduction = INTRODUCTION.read_text(encoding="utf-8")
    assert page_text(tmp_path).startswith(introduction)
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").startswith(introduction)
    ranked = [e for e in find_experiments(["*"]) if e.method]
    networks = [e for e in ranked if e.settings.get("preset") == "paper"]
    rates = {(e.settings["learning_rate"], e.settings["batch_size"]) for e in networks}
    assert rates == {(0.0015, 256)}
    assert "batches have 256 relations and the learning rate is .0015" in introduction
