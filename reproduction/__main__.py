"""List and run experiments, and show the stored runs: see docs/reproduction.md."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.experiments import (
    FIGURES,
    MEASURED,
    SEMEVAL,
    TASK13,
    Experiment,
    all_experiments,
    choose_experiments,
    find_experiments,
)
from taxoexpan import read_taxonomy
from taxoexpan.config import parse_changes
from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from reproduction.measurements.trial import Data
    from reproduction.task import Task

CALIBRATION = "calibration"
"""The figure of the measurements of confidence."""
PAPER = "paper"
"""The page with the paper's tables."""
LEAVES = "one leaf in ten is held out for validation, and one for the test"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all steps."""
    parser = argparse.ArgumentParser("reproduction", description=__doc__)
    parser.set_defaults(step=_list)
    steps = parser.add_subparsers(metavar="STEP", title="steps (default: list all experiments)")
    run = steps.add_parser("run", help="run experiments; stored runs are not repeated")
    run.add_argument("--task", type=Path, nargs="+", help="task files, from prepare")
    run.add_argument("--seeds", type=int, default=3, help="runs per experiment (default: 3)")
    run.add_argument("--newer", type=Path, metavar="FILE", help="a newer release, to measure with")
    run.add_argument("--task13", type=Path, metavar="DIR", help="folder of SemEval-2016 Task 13")
    prepare = steps.add_parser("prepare", help="write a task, with its vectors, for other machines")
    table = steps.add_parser("table", help="print a table of the stored runs")
    figure = steps.add_parser("figure", help="draw a figure as PNG and SVG")
    figure.add_argument("name", choices=[*FIGURES, CALIBRATION])
    figure.add_argument("--vectors", help="which runs to draw, if several tasks have runs")
    page = steps.add_parser("page", help="write a page with all results of the paper's tables")
    page.add_argument(
        "name",
        nargs="?",
        choices=(PAPER, TASK13),
        default=PAPER,
        help=f"the paper's tables (default), or SemEval-2016 Task 13: {TASK13}",
    )
    icd = steps.add_parser("icd", help="write a release of ICD-10-CM as a taxonomy")
    icd.add_argument("wheel", type=Path, help="wheel of simple-icd-10-cm")
    icd.add_argument("-o", "--output", type=Path, required=True, metavar="CSV")
    icd.set_defaults(step=_icd)
    for step, function in ((run, _run), (prepare, _prepare)):
        _add_data(step)
        step.set_defaults(step=function)
    for step, function in ((table, _table), (figure, _figure), (page, _page)):
        step.set_defaults(step=function)
    for step in (run, table, figure):
        _add_experiments(step)
    for step in (run, table, figure, page):
        step.add_argument("--runs", type=Path, default=Path("runs"), help="folder of stored runs")
    for step in (run, prepare, table):
        step.add_argument("--semeval", type=Path, help="folder of SemEval-2016 Task 14")
        step.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
        step.add_argument("--quiet", action="store_true", help="do not show progress")
    for step, default in ((prepare, "."), (table, None), (figure, "."), (page, None)):
        step.add_argument("-o", "--output", type=Path, default=default)
    return parser


def _add_experiments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose experiments and change their settings."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="EXPERIMENT",
        help="name, group or pattern, such as main/taxoexpan, main or 'ablation/*-mlp'",
    )
    parser.add_argument(
        "--config",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="TOML files with experiments of your own",
    )
    parser.add_argument(
        "--epochs",
        type=_positive,
        metavar="N",
        help="maximum number of training epochs of every experiment that has this setting",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="changes",
        metavar="NAME=VALUE",
        help="override a setting of every experiment that has it, also of your own, for example "
        "hidden_dim=64; can be repeated",
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the data and its vectors."""
    parser.add_argument(
        "--mag-cs",
        type=Path,
        metavar="PATH",
        help="folder of MAG-CS, or its .terms file, with the split of the paper",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="FILE",
        help="your own taxonomy, in any format; the ids to hold out are in FILE.validation and "
        "FILE.test, one per line (default: the food taxonomy of the package, and one leaf in ten "
        "for either list)",
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


def _positive(text: str) -> int:
    """Read a number of epochs."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def _chosen(options: argparse.Namespace) -> list[Experiment]:
    """Return the chosen experiments with their changed settings."""
    changes = parse_changes(options.changes, {"epochs": options.epochs})
    return choose_experiments(options.names, options.config, changes)


def _run(options: argparse.Namespace) -> None:
    """Make the missing runs, and print the results of all runs as tables."""
    experiments = _chosen(options)
    measurements, ranked = _by_kind(experiments)
    if not measurements and not ranked:
        problem = "the chosen results are only quoted, so there is nothing to run"
        raise ConfigurationError(problem, fix="see `python -m reproduction` for all experiments")
    if measurements:
        _measure(measurements, options)
    elif options.newer:
        message = "a newer release is only measured with"
        raise ConfigurationError(message, fix="compare methods on it by `taxoexpan evaluate`")
    if ranked:
        _rank(ranked, options)


def _by_kind(experiments: Sequence[Experiment]) -> tuple[list[Experiment], list[Experiment]]:
    """Return the measurements, and the experiments that rank, without quotations among both."""
    measured = [each for each in experiments if each.measurement]
    ranked = [e for e in experiments if not e.measurement and e.group not in MEASURED]
    return measured, ranked


def _measure(experiments: Sequence[Experiment], options: argparse.Namespace) -> None:
    """Make the missing runs of measurements, and print their tables."""
    from reproduction.measurements.runner import run_measurements, tables_text
    from reproduction.measurements.trial import Trial
    from reproduction.runner import depends_on_seed

    say = _speaker(options)

    def begin(trial: Trial, left: int) -> None:
        name = f"{trial.data.name}: {trial.experiment.title}, seed {trial.seed}"
        say(f"{name}: started, {left:,} more to run")

    trials = [
        Trial(experiment, data, seed, options.features, options.device, not options.quiet)
        for data in _releases(options)
        for seed in range(options.seeds)
        for experiment in experiments
        if seed == 0 or not experiment.method or depends_on_seed(experiment)
    ]
    for run in run_measurements(trials, options.runs, begin):
        say(f"{run.task.name}: {run.experiment.title}, seed {run.seed}: {run.seconds:.0f} s")
    print(tables_text(experiments, options.runs), end="")


def _releases(options: argparse.Namespace) -> list[Data]:
    """Read the taxonomies to measure on, with their newer releases."""
    from reproduction.measurements.trial import Data

    if options.task13:
        from reproduction.task13.data import read_task13

        return read_task13(options.task13)
    return [Data.read(options.taxonomy or _terms(options.mag_cs), options.newer)]


def _rank(experiments: Sequence[Experiment], options: argparse.Namespace) -> None:
    """Make the missing runs, print the result of every run, and compare them with the paper."""
    from reproduction.runner import run_experiments
    from reproduction.runs import task_folder
    from reproduction.tables import metrics_text, table_text
    from taxoexpan.device import choose_device

    say = _speaker(options)

    def begin(experiment: Experiment, seed: int, left: int) -> None:
        say(f"{experiment.title}, seed {seed}: started, {left:,} more to run")

    progress = not options.quiet
    if any(experiment.method == "dist-xgboost" for experiment in experiments):
        from reproduction.baselines.dist_xgboost import refuse_without_xgboost

        refuse_without_xgboost()
    failed: dict[str, Exception] = {}

    def fail(experiment: Experiment, seed: int, error: Exception) -> None:
        failed.setdefault(experiment.title, error)
        _note(f"{experiment.title}, seed {seed}: failed")
        if not isinstance(error, TaxoExpanError):
            traceback.print_exception(error)

    done = []
    stored = 0
    for task in _tasks(options):
        moved = task.to(choose_device(options.device))
        done.append(task)
        where = (options.seeds, options.runs)
        for experiment, run in run_experiments(experiments, moved, *where, begin, progress, fail):
            stored += 1
            record = run.record
            result = f"{metrics_text(record.test)}; validation MR {record.validation.mr:.1f}"
            result += f" ({record.seconds_to_fit:.0f} s)"
            say(f"{experiment.title}, seed {record.seed}: {result}")
    if failed and not stored:
        raise _all_failures(failed)
    if options.semeval:
        _print_semeval(experiments, options, [task.features for task in done])
    else:
        print(table_text(experiments, options.runs, [*map(task_folder, done)]), end="")
    if failed:
        raise _all_failures(failed)


def _all_failures(failed: Mapping[str, Exception]) -> TaxoExpanError:
    """Return one error for all experiments that failed."""
    lines = [f"{title}: {error or type(error).__name__}" for title, error in failed.items()]
    problem = "\n".join([f"{pluralize(len(failed), 'experiment')} failed:", *lines])
    return ConfigurationError(problem, fix="correct them, and run again; stored runs are kept")


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
    from reproduction.split import list_paths, read_split, split_leaves
    from reproduction.task import make_task
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.placement.fitting.preparation import refuse_too_small

    say = _speaker(options)
    encoder = make_encoder(options.features or "static", device=options.device)
    encoder.show_progress(not options.quiet)
    work = f"reading and encoding with {encoder.name}, finding mentions and duplicates"
    if options.semeval:
        for part in ("noun", "verb"):
            say(f"WordNet and SemEval, {part}s: {work}")
            yield semeval_task(options.wordnet, options.semeval, part, encoder, options.joined)
        return
    if file := options.taxonomy or _terms(options.mag_cs):
        say(f"{file}: {work}")
        if options.taxonomy and not any(path.exists() for path in list_paths(file)):
            _note(f"note: {file.name} has no lists of ids to hold out (see the docs); {LEAVES}")
            holdouts = split_leaves(read_taxonomy(file))
        else:
            holdouts = read_split(file)
        refuse_too_small(holdouts[0].active.taxonomy)
        yield make_task(file.stem, encoder, *holdouts, options.joined)
        return
    _note(f"note: the data is the food taxonomy of the package; {LEAVES}")
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
    from reproduction.tables import table_text

    experiments = _chosen(options)
    measured, ranked = _by_kind(experiments)
    if measured:
        from reproduction.measurements.runner import tables_text

        print(tables_text(measured, options.runs), end="")
    if not ranked:
        return
    if options.semeval is None and any(experiment.group == SEMEVAL for experiment in ranked):
        message = "the table of SemEval-2016 Task 14 needs the gold keys"
        raise ConfigurationError(message, fix="give the folder of the task with --semeval")
    if options.semeval is None:
        print(table_text(ranked, options.runs), end="")
    else:
        _print_semeval(ranked, options)


def _print_semeval(
    experiments: Sequence[Experiment],
    options: argparse.Namespace,
    features: Sequence[str] | None = None,
) -> None:
    """Print the table of SemEval-2016 Task 14 for runs with these vectors (default: all)."""
    from reproduction.semeval.table import SemEvalResults

    _speaker(options)("reading WordNet, scoring the placements")
    results = SemEvalResults(experiments, options.runs, options.wordnet, options.semeval)
    if getattr(options, "output", None):
        options.output.mkdir(parents=True, exist_ok=True)
        for name, key in results.files().items():
            (options.output / name).write_bytes(key)
    print(results.text(features), end="")


def _figure(options: argparse.Namespace) -> None:
    from reproduction.figures import draw, image_bytes

    is_own = bool(options.names or options.config)
    experiments = _chosen(options) if is_own else []
    if options.name == CALIBRATION:
        from reproduction.measurements.calibration_plots import draw_confidence
        from reproduction.measurements.runner import stored_runs

        experiments = experiments or find_experiments([CALIBRATION])
        measured = [each for each in experiments if each.measurement == "confidence"]
        figure = draw_confidence(stored_runs(measured, options.runs))
    else:
        figure = draw(options.name, options.runs, options.vectors, experiments)
    options.output.mkdir(parents=True, exist_ok=True)
    for kind in ("png", "svg"):
        path = options.output / f"{options.name}.{kind}"
        path.write_bytes(image_bytes(figure, path))
        _note(f"{path} written")


def _page(options: argparse.Namespace) -> None:
    if options.name == TASK13:
        from reproduction.task13.page import page_text as text_of
    else:
        from reproduction.page import page_text as text_of
    output = options.output or Path("reproduction.md" if options.name == PAPER else "task13.md")
    output.write_text(text_of(options.runs), encoding="utf-8")
    _note(f"{output} written")


def _icd(options: argparse.Namespace) -> None:
    from reproduction.icd import icd_table

    options.output.write_text(icd_table(options.wheel), encoding="utf-8", newline="")
    _note(f"{options.output} written")


def _speaker(options: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints a message about the progress, unless `--quiet` is given."""
    return (lambda _: None) if options.quiet else _note


def _note(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
