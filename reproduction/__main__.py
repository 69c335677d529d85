"""List and run experiments, and show the stored runs: see docs/reproduction.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.experiments import (
    FIGURES,
    MEASURED,
    SEMEVAL,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)
from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from reproduction.task import Task

CALIBRATION = "calibration"
"""The figure of the measurements of confidence."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all steps."""
    parser = argparse.ArgumentParser("reproduction", description=__doc__)
    parser.set_defaults(step=_list)
    steps = parser.add_subparsers(metavar="STEP", title="steps (default: list all experiments)")
    run = steps.add_parser("run", help="run experiments; stored runs are not repeated")
    run.add_argument(
        "names",
        nargs="+",
        metavar="EXPERIMENT",
        help="name, group or pattern, such as main/taxoexpan, main or 'ablation/*-mlp'",
    )
    run.add_argument("--task", type=Path, nargs="+", help="task files, from prepare")
    run.add_argument("--seeds", type=int, default=3, help="runs per experiment (default: 3)")
    run.add_argument("--quiet", action="store_true", help="show no progress")
    run.add_argument(
        "--taxonomy",
        type=Path,
        metavar="FILE",
        help="the taxonomy of a measurement (default: that of --mag-cs, or the food taxonomy)",
    )
    run.add_argument("--newer", type=Path, metavar="FILE", help="its newer release")
    prepare = steps.add_parser("prepare", help="write a task, with its vectors, for other machines")
    table = steps.add_parser("table", help="print a table of the stored runs")
    table.add_argument("name", choices=[*TABLES, SEMEVAL, *MEASURED])
    figure = steps.add_parser("figure", help="draw a figure as PNG and SVG")
    figure.add_argument("name", choices=[*FIGURES, CALIBRATION])
    figure.add_argument("--vectors", help="which runs to draw, if several tasks have runs")
    page = steps.add_parser("page", help="write one page with all results of the paper's tables")
    icd = steps.add_parser("icd", help="write a release of ICD-10-CM as a taxonomy")
    icd.add_argument("wheel", type=Path, help="wheel of simple-icd-10-cm")
    icd.add_argument("-o", "--output", type=Path, required=True, metavar="CSV")
    icd.set_defaults(step=_icd)
    for step, function in ((run, _run), (prepare, _prepare)):
        _add_data(step)
        step.set_defaults(step=function)
    for step, function in ((table, _table), (figure, _figure), (page, _page)):
        step.set_defaults(step=function)
    for step in (run, table, figure, page):
        step.add_argument("--runs", type=Path, default=Path("runs"), help="folder of stored runs")
    for step in (run, prepare, table):
        step.add_argument("--semeval", type=Path, help="folder of SemEval-2016 Task 14")
        step.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    for step, default in ((prepare, "."), (table, None), (figure, "."), (page, "reproduction.md")):
        step.add_argument("-o", "--output", type=Path, default=default)
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the data and its vectors."""
    parser.add_argument(
        "--mag-cs",
        type=Path,
        metavar="PATH",
        help="folder of MAG-CS, or a .terms file of another taxonomy with its split (default: the "
        "food taxonomy of the package, with a split of its own)",
    )
    parser.add_argument(
        "--features", help="encoder (default: static; for measurements, that of the preset)"
    )
    parser.add_argument("--joined", action="store_true", help="embed names with their definitions")
    parser.add_argument("--half", action="store_true", help="round vectors to half precision")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one step; return 2 after an error."""
    options = build_parser().parse_args(arguments)
    try:
        options.step(options)
    except TaxoExpanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _list(_: argparse.Namespace) -> None:
    from reproduction.tables import METRIC_NAMES

    names = {**METRIC_NAMES, "wu_palmer": "Wu&P", "f1": "F1"}
    for experiment in all_experiments():
        published = [f"{names[k]} {v}" for k, v in experiment.published.items() if k in names]
        print(f"{experiment.name:<44}{experiment.title:<40}{', '.join(published)}".rstrip())


def _run(options: argparse.Namespace) -> None:
    """Make the missing runs, and print the results of all runs as tables."""
    experiments = find_experiments(options.names)
    measurements = [experiment for experiment in experiments if experiment.measurement]
    ranked = [experiment for experiment in experiments if not experiment.measurement]
    if measurements:
        _measure(measurements, options)
    if ranked:
        _rank(ranked, options)


def _measure(experiments: Sequence[Experiment], options: argparse.Namespace) -> None:
    """Make the missing runs of measurements, and print their tables."""
    from reproduction.measurements.runner import run_measurements, tables_text
    from reproduction.measurements.trial import Data, Trial

    def begin(trial: Trial, left: int) -> None:
        if not options.quiet:
            _note(f"{trial.experiment.title}, seed {trial.seed}: started, {left:,} more to run")

    data = Data.read(options.taxonomy or _terms(options.mag_cs), options.newer)
    trials = [
        Trial(experiment, data, seed, options.features, options.device, not options.quiet)
        for seed in range(options.seeds)
        for experiment in experiments
    ]
    for run in run_measurements(trials, options.runs, begin):
        _note(f"{run.experiment.title}, seed {run.seed}: {run.seconds:.0f} s")
    print(tables_text(experiments, options.runs), end="")


def _rank(experiments: Sequence[Experiment], options: argparse.Namespace) -> None:
    """Make the missing runs, print the result of every run, and compare them with the paper."""
    from reproduction.runner import run_experiments
    from reproduction.tables import table_text
    from taxoexpan.device import choose_device

    def begin(experiment: Experiment, seed: int, left: int) -> None:
        if not options.quiet:
            _note(f"{experiment.title}, seed {seed}: started, {left:,} more to run")

    progress = not options.quiet
    if any(experiment.method == "dist-xgboost" for experiment in experiments):
        from reproduction.baselines.dist_xgboost import refuse_without_xgboost

        refuse_without_xgboost()
    for task in _tasks(options):
        moved = task.to(choose_device(options.device))
        runs = run_experiments(experiments, moved, options.seeds, options.runs, begin, progress)
        for experiment, run in runs:
            test = run.record.test
            _note(
                f"{experiment.title}, seed {run.record.seed}: MR {test.mr:.1f}, "
                f"Hit@1 {test.hit_at_1:.3f}, Hit@3 {test.hit_at_3:.3f}, "
                f"MRR {test.mrr:.3f}  ({run.record.seconds_to_fit:.0f} s)"
            )
    print(table_text(experiments, options.runs), end="")


def _tasks(options: argparse.Namespace) -> Iterator[Task]:
    """Yield the tasks of the given files, or of the given data."""
    from reproduction.task_file import load_task

    if getattr(options, "task", None):
        yield from map(load_task, options.task)
        return
    for task in _make_tasks(options):
        yield task.with_half_precision() if options.half else task


def _make_tasks(options: argparse.Namespace) -> Iterator[Task]:
    from reproduction.semeval.task import semeval_task
    from reproduction.split import read_split, split_leaves
    from reproduction.task import make_task
    from taxoexpan.features.encoder_registry import make_encoder

    encoder = make_encoder(options.features or "static", device=options.device)
    encoder.show_progress(True)
    if options.semeval:
        for part in ("noun", "verb"):
            yield semeval_task(options.wordnet, options.semeval, part, encoder, options.joined)
        return
    if terms := _terms(options.mag_cs):
        yield make_task(terms.stem, encoder, *read_split(terms), options.joined)
        return
    _note("data: the food taxonomy of the package; give MAG-CS with --mag-cs, see the docs")
    with resources.as_file(resources.files("taxoexpan.data") / "food.csv") as path:
        food = read_taxonomy(path)
    yield make_task("food", encoder, *split_leaves(food), options.joined)


def _terms(path: Path | None) -> Path | None:
    """Return the file with the names, given that file or the folder of MAG-CS."""
    return path / "computer_science.terms" if path and path.is_dir() else path


def _prepare(options: argparse.Namespace) -> None:
    from reproduction.task_file import task_bytes

    for task in _tasks(options):
        path = options.output / f"{task.name}.npz"
        path.write_bytes(task_bytes(task))
        _note(f"{path} written: {pluralize(len(task.problem.taxonomy), 'concept')}")


def _table(options: argparse.Namespace) -> None:
    from reproduction.semeval.table import SemEvalResults
    from reproduction.tables import table_text

    experiments = find_experiments([options.name])
    if options.name in MEASURED:
        from reproduction.measurements.runner import tables_text

        print(tables_text(experiments, options.runs), end="")
        return
    if options.name != SEMEVAL:
        print(table_text(experiments, options.runs), end="")
        return
    if options.semeval is None:
        message = "the table of SemEval-2016 Task 14 needs the gold keys"
        raise ConfigurationError(message, fix="give the folder of the task with --semeval")
    results = SemEvalResults(experiments, options.runs, options.wordnet, options.semeval)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, key in results.files().items():
            (options.output / name).write_bytes(key)
    print(results.text(), end="")


def _figure(options: argparse.Namespace) -> None:
    from reproduction.figures import draw, image_bytes

    if options.name == CALIBRATION:
        from reproduction.measurements.calibration_plots import draw_confidence
        from reproduction.measurements.runner import stored_runs

        experiments = find_experiments([CALIBRATION])
        measured = [each for each in experiments if each.measurement == "confidence"]
        figure = draw_confidence(stored_runs(measured, options.runs))
    else:
        figure = draw(options.name, options.runs, options.vectors)
    options.output.mkdir(parents=True, exist_ok=True)
    for kind in ("png", "svg"):
        path = options.output / f"{options.name}.{kind}"
        path.write_bytes(image_bytes(figure, path))
        _note(f"{path} written")


def _page(options: argparse.Namespace) -> None:
    from reproduction.page import page_text

    options.output.write_text(page_text(options.runs), encoding="utf-8")
    _note(f"{options.output} written")


def _icd(options: argparse.Namespace) -> None:
    from reproduction.icd import icd_table

    options.output.write_text(icd_table(options.wheel), encoding="utf-8", newline="")
    _note(f"{options.output} written")


def _note(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
