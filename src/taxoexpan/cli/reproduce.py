"""Reproduce the paper's experiments: list, prepare, run, table, figure, report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import add_device, add_output
from taxoexpan.cli.messages import note
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.experiments.paper.experiment import (
    FIGURES,
    SEMEVAL,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.experiments.paper.task import Task


MISSING_RUNS = "task file; with it, missing runs are trained first (default: show stored runs only)"
"""The help text of --task in the steps that show stored runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    steps.add_parser(
        "list",
        help="list all experiments with their published results",
        description="List the name, the title and the published results of every experiment.",
    )
    prepare = steps.add_parser(
        "prepare",
        help="make a task file: a taxonomy, its split and its vectors",
        description="Read a taxonomy and its split, embed all concepts, and write one task file "
        "for the other steps.",
    )
    prepare.add_argument(
        "terms",
        type=Path,
        metavar="TERMS",
        help=".terms file (its .taxo, .terms.validation and .terms.test files must be in the same "
        "folder), or with --semeval a WordNet folder",
    )
    prepare.add_argument(
        "--features",
        default="static",
        metavar="ENCODER",
        help="encoder, as in train (default: static)",
    )
    prepare.add_argument(
        "--semeval",
        type=Path,
        metavar="DIR",
        help="folder of SemEval-2016 Task 14, whose concepts are placed in WordNet",
    )
    prepare.add_argument(
        "--part",
        choices=("noun", "verb"),
        default="noun",
        help="part of speech (only with --semeval; default: noun)",
    )
    prepare.add_argument(
        "--joined", action="store_true", help="embed each name together with its definition"
    )
    prepare.add_argument("--half", action="store_true", help="store the vectors in half precision")
    add_output(prepare, ".npz file to write", required=True)
    add_device(prepare)
    run = steps.add_parser(
        "run",
        help="run experiments and store the results",
        description="Train and test the methods of the experiments on a task. Each run is stored "
        "in a folder; stored runs are not repeated.",
    )
    run.add_argument(
        "names",
        nargs="+",
        metavar="EXPERIMENT",
        help="name, group or pattern, such as main/taxoexpan, main or ablation/*-mlp",
    )
    _add_running(run, "task file, from prepare", required=True)
    table = steps.add_parser(
        "table",
        help="print a table of the paper next to our results; with --task, train what is missing",
        description="Print a table with the published results and the results of the stored runs. "
        "With --task, all runs that are missing are trained first, which may take hours.",
    )
    table.add_argument(
        "name",
        choices=[*TABLES, SEMEVAL],
        help="table to print; semeval is the table of SemEval-2016 Task 14",
    )
    table.add_argument(
        "--wordnet",
        type=Path,
        default=Path("/usr/share/wordnet"),
        metavar="DIR",
        help="semeval only: folder of WordNet 3.0 (default: %(default)s)",
    )
    table.add_argument(
        "--semeval", type=Path, metavar="DIR", help="semeval only: folder of the task"
    )
    add_output(table, "semeval only: folder for the answer keys, in the task's format")
    _add_running(table, MISSING_RUNS)
    figure = steps.add_parser(
        "figure",
        help="draw a figure of the paper as PNG and SVG; with --task, train what is missing",
        description="Draw a figure from the stored runs on one task, as a PNG and an SVG file. "
        "With --task, all runs that are missing are trained first, which may take hours.",
    )
    figure.add_argument("name", choices=FIGURES, help="figure to draw")
    figure.add_argument(
        "--vectors",
        metavar="NAME",
        help="which runs to draw, if there are runs on several tasks: the encoder of a task, or "
        "the name of the task's folder in --runs (not with --task)",
    )
    add_output(figure, "folder for the PNG and SVG files (default: current folder)")
    _add_running(figure, MISSING_RUNS)
    report = steps.add_parser(
        "report",
        help="write one page with all results",
        description="Write a Markdown page with the tables and figures of the paper, from the "
        "stored runs.",
    )
    _add_runs(report)
    report.add_argument("--remarks", type=Path, metavar="FILE", help="Markdown file to include")
    report.add_argument(
        "--pictures",
        default=".",
        metavar="DIR",
        help="folder of the figures, relative to the page (default: same folder as the page)",
    )
    add_output(report, "Markdown file to write", required=True)


def _add_running(parser: argparse.ArgumentParser, task_help: str, required: bool = False) -> None:
    parser.add_argument("--task", type=Path, metavar="NPZ", required=required, help=task_help)
    _add_runs(parser)
    parser.add_argument(
        "--seeds",
        type=positive,
        default=3,
        help="number of seeds (runs) per experiment (default: 3); rules need one run",
    )
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder of the stored runs (default: runs)",
    )


def run(options: argparse.Namespace) -> int:
    """Run one step."""
    STEPS[options.step](options)
    return 0


def _list(_: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.result_tables import METRIC_NAMES

    names = {**METRIC_NAMES, "wu_palmer": "Wu&P", "f1": "F1"}
    for experiment in all_experiments():
        published = [f"{names[k]} {v}" for k, v in experiment.published.items() if k in names]
        print(f"{experiment.name:<44}{experiment.title:<40}{', '.join(published)}".rstrip())


def _prepare(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.split import read_split
    from taxoexpan.experiments.paper.task import make_task
    from taxoexpan.experiments.paper.task_file import task_bytes
    from taxoexpan.experiments.semeval.semeval_task import semeval_task
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.files import preflight, write_whole

    if options.output.suffix.lower() != ".npz":
        message = f"{options.output}: a task file must end in .npz"
        raise ConfigurationError(f"{message}; change the name")
    preflight([options.output], [options.terms], options.force)
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(True)
    if options.semeval:
        task = semeval_task(options.terms, options.semeval, options.part, encoder, options.joined)
    else:
        task = make_task(options.terms.stem, encoder, *read_split(options.terms), options.joined)
    task = task.with_half_precision() if options.half else task
    write_whole({options.output: task_bytes(task)}, options.force, checked=True)
    size, queries = pluralize(len(task.problem.taxonomy), "concept"), len(task.test.parents)
    test = "1 test query" if queries == 1 else f"{queries:,} test queries"
    note(f"{options.output} written: {size} and {test}")


def _run(options: argparse.Namespace) -> None:
    _run_missing(options, options.names)


def _run_missing(options: argparse.Namespace, names: Sequence[str]) -> Task:
    """Make the missing runs, print the result of every run, and return the task."""
    from taxoexpan.device import choose_device
    from taxoexpan.experiments.paper.runner import run_experiments
    from taxoexpan.experiments.paper.task_file import load_task
    from taxoexpan.progress import LONG_SECONDS, spell_duration

    starts: list[float] = []

    def begin(experiment: Experiment, seed: int, left: int) -> None:
        if options.quiet:
            return
        if not starts:
            note(_announce(left + 1, options.step))
        starts.append(time.monotonic())
        rest = (starts[-1] - starts[0]) / max(len(starts) - 1, 1) * (left + 1)
        pace = f"; about {spell_duration(rest)} at the speed so far" if rest > LONG_SECONDS else ""
        note(f"{experiment.title}, seed {seed}: started, {left:,} more to run{pace}")

    experiments, progress = _runnable(find_experiments(names), names), not options.quiet
    task = load_task(options.task).to(choose_device(options.device))
    runs = run_experiments(experiments, task, options.seeds, options.runs, begin, progress)
    for experiment, run in runs:
        test = run.record.test
        note(
            f"{experiment.title}, seed {run.record.seed}: MR {test.mr:.1f}, "
            f"Hit@1 {test.hit_at_1:.3f}, Hit@3 {test.hit_at_3:.3f}, "
            f"MRR {test.mrr:.3f}  ({run.record.seconds_to_fit:.0f} s)"
        )
    return task


def _announce(missing: int, step: str) -> str:
    """Return how many runs will be made, and how to show only the stored ones."""
    text = f"{pluralize(missing, 'run')} to make; stored runs are not repeated"
    return text if step == "run" else f"{text}. Without --task, {step} only shows stored runs"


def _runnable(experiments: Sequence[Experiment], names: Sequence[str]) -> Sequence[Experiment]:
    """Skip the experiments that need a missing xgboost, unless they were named explicitly."""
    from taxoexpan.experiments.methods.dist_xgboost import refuse_without_xgboost

    boosted = [experiment for experiment in experiments if experiment.method == "dist-xgboost"]
    if not boosted:
        return experiments
    try:
        refuse_without_xgboost()
    except ConfigurationError as error:
        if len(boosted) == len(experiments) or any(e.name in names for e in boosted):
            raise
        note(f"note: skipping {', '.join(e.name for e in boosted)}: {error}")
        return [experiment for experiment in experiments if experiment not in boosted]
    return experiments


def _table(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.result_tables import table_text

    if options.task:
        _run_missing(options, [options.name])
    if options.name == SEMEVAL:
        _semeval_table(options)
        return
    if options.output:
        message = "only the table of SemEval-2016 Task 14 has keys to write with --output"
        raise ConfigurationError(f"{message}; redirect the output to save this table")
    print(table_text(find_experiments([options.name]), options.runs), end="")


def _semeval_table(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.semeval.score_table import SemEvalResults
    from taxoexpan.files import write_whole

    if options.semeval is None:
        message = "the table of SemEval-2016 Task 14 needs the gold keys"
        raise ConfigurationError(f"{message}; give the folder of the task with --semeval")
    experiments = find_experiments([SEMEVAL])
    results = SemEvalResults(experiments, options.runs, options.wordnet, options.semeval)
    if options.output:
        keys = {options.output / name: key for name, key in results.files().items()}
        _check_outputs(options.output, list(keys), options.force)
        options.output.mkdir(parents=True, exist_ok=True)
        write_whole(keys, options.force, checked=True)
        note(f"{pluralize(len(keys), 'key')} written to {options.output}")
    print(results.text(), end="")


def _figure(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.figures import draw, image_bytes, refuse_without_matplotlib
    from taxoexpan.experiments.paper.run_record import task_folder
    from taxoexpan.files import write_whole

    refuse_without_matplotlib()
    if options.task and options.vectors:
        message = "--task and --vectors cannot be combined, since both choose the runs"
        raise ConfigurationError(f"{message}; give one of them")
    folder = options.output or Path()
    outputs = [folder / f"{options.name}.{kind}" for kind in ("png", "svg")]
    _check_outputs(folder, outputs, options.force)
    vectors = options.vectors
    if options.task:
        vectors = task_folder(_run_missing(options, [FIGURES[options.name]]))
    figure = draw(options.name, options.runs, vectors)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole({path: image_bytes(figure, path) for path in outputs}, options.force, checked=True)
    note(f"{' and '.join(str(path) for path in outputs)} written")


def _check_outputs(folder: Path, outputs: Sequence[Path], force: bool) -> None:
    """Refuse, before any work is done, outputs in a folder that cannot be made or written."""
    from taxoexpan.files import preflight

    if folder.is_dir():
        preflight(outputs, [], force)
        return
    topmost = folder.absolute()
    while not topmost.parent.exists():
        topmost = topmost.parent
    if topmost.exists():
        raise FormatError(folder, "not a folder; give the name of one")
    preflight([topmost], [], force)


def _report(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.results_page import report_text
    from taxoexpan.files import preflight, write_whole

    preflight([options.output], [p for p in (options.remarks,) if p], options.force)
    text = report_text(options.runs, options.pictures, _read_remarks(options.remarks))
    write_whole({options.output: text.encode()}, options.force, checked=True)
    note(f"{options.output} written")


def _read_remarks(path: Path | None) -> str:
    """Return the content of the file with remarks, if there is one."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"cannot be read ({error.strerror}); give --remarks a Markdown file"
        raise FormatError(path, message) from None
    except UnicodeDecodeError as error:
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(path, message) from None


STEPS = {
    "list": _list,
    "prepare": _prepare,
    "run": _run,
    "table": _table,
    "figure": _figure,
    "report": _report,
}
