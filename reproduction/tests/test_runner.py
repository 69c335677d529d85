from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import runner
from reproduction.experiments import Experiment
from reproduction.runner import depends_on_seed, run_experiment, run_experiments
from reproduction.runs import read_run, run_folder, runs_of
from reproduction.tables import format_mean, format_value, table_text
from reproduction.task import Task
from taxoexpan.errors import FormatError
from taxoexpan.evaluation.methods import make_method
from taxoexpan.evaluation.results import true_ranks_by
from taxoexpan.evaluation.rules import ClosestNeighbor
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import compute_metrics
from tests.support.splits import pantry_task

CLOSEST = Experiment("test/closest", 0, "Closest-Parent", "closest-parent")
NOISY = replace(CLOSEST, noise=0.1)
SMALL = {"preset": "best", "epochs": 3, "hidden_dim": 8, "embedding_dim": 16, "num_negatives": 32}
NETWORK = Experiment("test/network", 1, "TaxoExpan", "network", SMALL)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return pantry_task(tmp_path_factory.mktemp("split"))


def test_a_run_stores_everything_in_its_folder(task: Task, tmp_path: Path) -> None:
    run = run_experiment(NETWORK, task, 5, tmp_path / "experiment" / "5")
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "log.jsonl",
        "ranks.npz",
        "run.json",
    ]
    record = run.record
    assert read_run(run.folder) == run
    assert json.loads((run.folder / "run.json").read_text(encoding="utf-8")) == asdict(record)
    assert record.experiment == NETWORK
    assert record.experiment.settings == SMALL
    assert (record.seed, record.task.sha256) == (5, task.digest())
    assert (record.concepts, record.relations) == (73, 72)
    lines = (run.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    log = [json.loads(line) for line in lines]
    assert [epoch["number"] for epoch in log] == [1, 2, 3]
    assert record.epochs == 3
    ((device, seconds),) = record.seconds_to_place.items()
    assert device == record.device
    assert seconds > 0
    assert record.best_epoch is not None
    assert log[record.best_epoch - 1]["better"]


def test_stored_ranks_are_those_of_the_method(task: Task, tmp_path: Path) -> None:
    run = run_experiment(CLOSEST, task, 0, tmp_path / "0")
    method = make_method("closest-parent")
    method.set_anchors(task.problem.taxonomy, task.problem.vectors)
    for part, queries in (("test", task.test), ("validation", task.problem.validation)):
        expected = true_ranks_by(method, queries, len(task.problem.taxonomy))
        for one, other in zip(run.ranks(part), expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert getattr(run.record, part) == compute_metrics(expected)
    assert run.metrics == compute_metrics(run.ranks())


def test_changed_taxonomies_are_learned_from(task: Task, tmp_path: Path) -> None:
    noisy = run_experiment(replace(CLOSEST, noise=0.5), task, 0, tmp_path / "noisy")
    fewer = run_experiment(replace(CLOSEST, leaf_fraction=0.5), task, 0, tmp_path / "fewer")
    assert (noisy.record.concepts, fewer.record.concepts) == (73, 41)
    assert noisy.record.task == fewer.record.task


def test_nothing_runs_twice(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = [NOISY, Experiment("test/popularity", 1, "popularity", "popularity", noise=0.1)]
    done = list(run_experiments(experiments, task, 2, tmp_path))
    order = [(run.record.experiment.method, run.record.seed) for _, run in done]
    assert order == [
        ("closest-parent", 0),
        ("popularity", 0),
        ("closest-parent", 1),
        ("popularity", 1),
    ]
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    monkeypatch.setattr(runner, "run_experiment", None)
    again = list(run_experiments(experiments, task, 2, tmp_path))
    assert [run.record for _, run in again] == [run.record for _, run in done]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == stamps


def test_an_experiment_without_randomness_runs_once(task: Task, tmp_path: Path) -> None:
    fewer = replace(CLOSEST, leaf_fraction=0.5)
    done = list(run_experiments([CLOSEST, NOISY, fewer], task, 2, tmp_path))
    seeds = [(experiment, run.record.seed) for experiment, run in done]
    assert seeds == [(CLOSEST, 0), (NOISY, 0), (fewer, 0), (NOISY, 1), (fewer, 1)]
    assert not depends_on_seed(Experiment("test/first-word", 1, "FWFS", "first-word"))
    assert depends_on_seed(NETWORK)


def test_a_run_of_another_task_is_not_taken_for_this_ones(task: Task, tmp_path: Path) -> None:
    list(run_experiments([CLOSEST], task, 1, tmp_path))
    other = replace(task, problem=replace(task.problem, vectors=-task.problem.vectors))
    with pytest.raises(FormatError, match=r"of another task with .*another folder of runs"):
        list(run_experiments([CLOSEST], other, 1, tmp_path))


def test_an_interrupted_run_leaves_nothing(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        TrainingLog, "write", stop
    )  # after an epoch, when there are weights to keep
    with pytest.raises(KeyboardInterrupt):
        run_experiment(NETWORK, task, 0, tmp_path / "runs" / "0")
    monkeypatch.setattr(runner, "true_ranks_by", stop)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(CLOSEST, task, 0, tmp_path / "runs" / "0")
    assert not list((tmp_path / "runs").iterdir())


def test_begin_is_called_with_the_number_of_runs_left(task: Task, tmp_path: Path) -> None:
    namesake = replace(NOISY, name="other/name", title="again")
    other = Experiment("test/popularity", 1, "popularity", "popularity", noise=0.1)
    calls: list[tuple[str, int, int]] = []

    def begin(experiment: Experiment, seed: int, left: int) -> None:
        calls.append((experiment.title, seed, left))

    list(run_experiments([other], task, 1, tmp_path))
    done = list(run_experiments([NOISY, namesake, other], task, 2, tmp_path, begin))
    assert calls == [("Closest-Parent", 0, 2), ("Closest-Parent", 1, 1), ("popularity", 1, 0)]
    # A shared run has the name of the requested experiment.
    assert [experiment.title for experiment, _ in done] == [
        "Closest-Parent",
        "again",
        "popularity",
    ] * 2
    assert done[0][1].record == done[1][1].record


def spoil_record(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record["test"]["mr"] = "low"
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")


def spoil_counts(folder: Path) -> None:
    with np.load(folder / "ranks.npz") as kept:
        arrays = dict(kept)
    np.savez(folder / "ranks.npz", **{**arrays, "test_counts": np.array([1, 2])})


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no record": lambda folder: (folder / "run.json").unlink(),
    "half a record": lambda folder: (folder / "run.json").write_text("{", encoding="utf-8"),
    "a figure of text": spoil_record,
    "no ranks": lambda folder: (folder / "ranks.npz").unlink(),
    "junk for ranks": lambda folder: (folder / "ranks.npz").write_bytes(b"junk" * 100),
    "other counts": spoil_counts,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_everywhere(damage: str, task: Task, tmp_path: Path) -> None:
    ((_, run),) = run_experiments([CLOSEST], task, 1, tmp_path)
    DAMAGES[damage](run.folder)
    refused = r"closest-parent-\w+/0: not a complete run \(.+\); delete the folder and run again"
    for use in (
        lambda: read_run(run.folder),
        lambda: list(run_experiments([CLOSEST], task, 1, tmp_path)),
        lambda: runs_of(tmp_path, CLOSEST),
        lambda: table_text([CLOSEST], tmp_path),
    ):
        with pytest.raises(FormatError, match=refused):
            use()


def test_experiments_with_equal_settings_share_their_runs(task: Task, tmp_path: Path) -> None:
    list(run_experiments([NOISY], task, 2, tmp_path))
    namesake = replace(NOISY, name="other/name", order=9, title="again", published={"mr": 1})
    found = runs_of(tmp_path, namesake)
    assert list(found) == ["pantry-static"]
    assert [run.record.seed for run in found["pantry-static"]] == [0, 1]
    assert not runs_of(tmp_path, CLOSEST)


def test_settings_are_equal_when_all_resulting_settings_are(task: Task, tmp_path: Path) -> None:
    def place(**settings: object) -> Path:
        return run_folder(tmp_path, task, replace(NETWORK, settings=settings), 0)

    assert place(preset="paper") == place(preset="paper", num_negatives=30)
    assert place(preset="paper") != place(preset="paper", num_negatives=31)
    assert place(preset="paper") != run_folder(tmp_path, task, CLOSEST, 0)


def test_defaults_of_a_method_are_settings_too(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(method: str, **settings: object) -> Path:
        return run_folder(tmp_path, task, Experiment("test/x", 0, "x", method, settings), 0)

    assert place("dist-xgboost") == place("dist-xgboost", depth=4)
    assert place("dist-xgboost") != place("dist-xgboost", depth=5)
    # ParentMLP has a default that no preset has.
    assert place("parent-mlp", preset="paper") == place(
        "parent-mlp", preset="paper", hidden_dim=500
    )
    before = place("closest-neighbor")
    changed = property(lambda _: {"distance_of_no_children": 0.5})
    monkeypatch.setattr(ClosestNeighbor, "settings", changed)
    assert place("closest-neighbor") != before


def test_runs_are_in_the_order_of_their_seeds(task: Task, tmp_path: Path) -> None:
    list(run_experiments([NOISY], task, 11, tmp_path))
    runs = runs_of(tmp_path, NOISY)["pantry-static"]
    assert [run.record.seed for run in runs] == list(range(11))


def test_the_table_shows_published_ours_and_the_difference(task: Task, tmp_path: Path) -> None:
    published = {"mr": 1.5, "hit_at_1": 0.25, "hit_at_3": 0.5, "mrr": 0.75}
    experiments = [replace(CLOSEST, published=published), replace(NETWORK, title="never run")]
    ((_, run),) = run_experiments(experiments[:1], task, 1, tmp_path)
    ours, as_authors = run.record.test, run.record.test_ties_as_best
    text = table_text(experiments, tmp_path)
    assert "**pantry**, vectors `static`, 8 test queries" in text
    assert "The columns *paper* are the published results on another task, MAG-CS" in text
    (row,) = [line for line in text.splitlines() if "Closest-Parent" in line]
    mine = [part.strip() for part in row.split("|")[2:-1]]
    mean_ranks = [f"{metrics.mr:.1f}" for metrics in (ours, as_authors)]
    assert mine[:4] == [*mean_ranks, "1.5", f"{as_authors.mr - 1.5:+.1f}"]
    assert mine[4:8] == [
        format_value("hit_at_1", ours.hit_at_1),
        format_value("hit_at_1", as_authors.hit_at_1),
        ".250",
        format_value("hit_at_1", as_authors.hit_at_1 - 0.25, sign=True),
    ]
    assert mine[-1] == "1"
    assert "| never run | – |" in text
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_the_papers_deviation_is_shown_where_there_is_one(task: Task, tmp_path: Path) -> None:
    published = {"mr": 80.33, "mr_deviation": 5.47, "hit_at_1": 0.25, "hit_at_1_deviation": 0.0}
    list(run_experiments([CLOSEST], task, 1, tmp_path))
    text = table_text([replace(CLOSEST, published=published)], tmp_path)
    (row,) = [line for line in text.splitlines() if "Closest-Parent" in line]
    parts = [part.strip() for part in row.split("|")]
    assert (parts[4], parts[8]) == ("80.3 ± 5.5", ".250")
    assert text.count("| paper |") == 2


def test_runs_of_other_tables_alone_make_no_table(task: Task, tmp_path: Path) -> None:
    shared = replace(CLOSEST, name="other/closest")
    own = [CLOSEST, Experiment("test/popularity", 1, "popularity", "popularity")]
    one, two, three = (replace(task, name=name) for name in ("one", "two", "three"))
    list(run_experiments([shared], one, 1, tmp_path))
    # Without other runs, they are shown nevertheless.
    assert "**one**" in table_text(own, tmp_path)
    list(run_experiments(own, two, 1, tmp_path))
    list(run_experiments(own[1:], three, 1, tmp_path))
    text = table_text(own, tmp_path)
    assert "**one**" not in text
    assert "**two**" in text
    # A single row that was run for this table is shown.
    assert "**three**" in text
    assert "**one**" in table_text([shared], tmp_path)


def test_several_seeds_have_a_deviation() -> None:
    assert format_mean("mr", [10.0, 12.0]) == "11.0 ± 1.4"
    assert format_mean("hit_at_1", [0.2, 0.2]) == ".200"
    assert format_mean("hit_at_1", [0.36, 0.36, 0.36]) == ".360"  # numpy's deviation is not 0
    assert format_mean("mrr", []) == "–"
    assert format_value("mrr", -0.04, sign=True) == "-.040"


def test_without_runs_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no runs of these experiments; run them first"):
        table_text([CLOSEST], tmp_path)
