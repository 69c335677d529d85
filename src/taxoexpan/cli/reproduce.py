"""Repeat the paper's experiments: list, prepare, run, table, figure, report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import add_device, add_output, positive
from taxoexpan.cli.messages import note
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.experiments.paper.experiment import (
    PICTURES,
    SEMEVAL,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)

if TYPE_CHECKING:
    from taxoexpan.experiments.paper.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the steps and their options."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    steps.add_parser("list", help="all experiments, with their published figures")
    prepare = steps.add_parser("prepare", help="make a task: a split taxonomy with its vectors")
    prepare.add_argument(
        "terms",
        type=Path,
        metavar="TERMS",
        help="a .terms file, with .taxo, .terms.validation and .terms.test beside it; or a WordNet",
    )
    prepare.add_argument("--features", default="static", metavar="SPEC", help="see train")
    prepare.add_argument(
        "--semeval",
        type=Path,
        metavar="DIR",
        help="the folder of SemEval-2016 Task 14, whose concepts go into the WordNet that is given",
    )
    prepare.add_argument("--part", choices=("noun", "verb"), default="noun", help="which of them")
    prepare.add_argument(
        "--joined", action="store_true", help="a name and its definition are one text"
    )
    prepare.add_argument("--half", action="store_true", help="vectors in half precision")
    add_output(prepare, "the .npz file to write", required=True)
    add_device(prepare)
    run = steps.add_parser("run", help="run experiments that were not run yet")
    run.add_argument("names", nargs="+", metavar="NAME", help="such as main, or ablation/*-mlp")
    _add_running(run, required=True)
    table = steps.add_parser("table", help="the paper's table beside ours")
    table.add_argument("name", choices=[*TABLES, SEMEVAL])
    table.add_argument(
        "--wordnet",
        type=Path,
        default=Path("/usr/share/wordnet"),
        metavar="DIR",
        help="for semeval: WordNet 3.0 (default: where Debian has it)",
    )
    table.add_argument("--semeval", type=Path, metavar="DIR", help="for semeval: the task's folder")
    add_output(table, "for semeval: a folder for the keys, in the task's format")
    _add_running(table)
    figure = steps.add_parser("figure", help="a figure of the paper, as PNG and SVG")
    figure.add_argument("name", choices=PICTURES)
    figure.add_argument(
        "--vectors",
        metavar="SPEC",
        help="of the runs with these features, where there are several, or of this folder's",
    )
    add_output(figure, "the folder to put both in, made if need be (default: here)")
    _add_running(figure)
    report = steps.add_parser("report", help="one page of all that was run")
    report.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs are kept"
    )
    report.add_argument("--remarks", type=Path, metavar="FILE", help="what to say of it, Markdown")
    report.add_argument(
        "--pictures", default=".", metavar="DIR", help="the figures' folder, seen from the page"
    )
    add_output(report, "the Markdown file to write", required=True)


def _add_running(parser: argparse.ArgumentParser, required: bool = False) -> None:
    parser.add_argument(
        "--task", type=Path, metavar="NPZ", required=required, help="run on this task first"
    )
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs are kept"
    )
    parser.add_argument("--seeds", type=positive, default=3, help="runs of each (default 3)")
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Do one step."""
    STEPS[options.step](options)
    return 0


def _list(_: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.result_tables import HEADS

    heads = {**HEADS, "wu_palmer": "Wu&P", "f1": "F1"}
    for experiment in all_experiments():
        figures = [
            f"{heads[key]} {value}" for key, value in experiment.published.items() if key in heads
        ]
        print(f"{experiment.name:<44}{experiment.title:<40}{', '.join(figures)}".rstrip())


def _prepare(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.split import read_split
    from taxoexpan.experiments.paper.task import make_task, task_bytes, with_half_precision
    from taxoexpan.experiments.semeval.semeval_task import semeval_task
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.phrasing import pluralize

    if options.output.suffix.lower() != ".npz":
        message = f"{options.output}: a task is written as .npz and as nothing else"
        raise ConfigurationError(f"{message}; let the name end in .npz")
    preflight([options.output], [options.terms], options.force)
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(True)
    if options.semeval:
        task = semeval_task(options.terms, options.semeval, options.part, encoder, options.joined)
    else:
        task = make_task(options.terms.stem, encoder, *read_split(options.terms), options.joined)
    task = with_half_precision(task) if options.half else task
    write_whole({options.output: task_bytes(task)}, options.force)
    size, queries = pluralize(len(task.problem.taxonomy), "concept"), len(task.test.parents)
    asked = "1 test query" if queries == 1 else f"{queries:,} test queries"
    note(f"{size} and {asked} in {options.output}")


def _run(options: argparse.Namespace) -> None:
    _run_missing(options, options.names)


def _run_missing(options: argparse.Namespace, names: Sequence[str]) -> Task:
    """Run what is missing, say what each run came to, and give the task that it was run on."""
    from taxoexpan.device import choose_device
    from taxoexpan.experiments.paper.runner import run_experiments
    from taxoexpan.experiments.paper.task import load_task

    def begin(experiment: Experiment, seed: int, left: int) -> None:
        if not options.quiet:
            note(f"{experiment.title}, seed {seed}: begins, with {left:,} more to run after it")

    experiments, progress = _able(find_experiments(names), names), not options.quiet
    task = load_task(options.task).to(choose_device(options.device))
    for experiment, done in run_experiments(
        experiments, task, options.seeds, options.runs, begin, progress
    ):
        figures = done.record["test"]
        note(
            f"{experiment.title}, seed {done.record['seed']}: MR {figures['mr']:.1f}, "
            f"Hit@1 {figures['hit_at_1']:.3f}, Hit@3 {figures['hit_at_3']:.3f}, "
            f"MRR {figures['mrr']:.3f}  ({done.record['seconds_to_fit']:.0f} s)"
        )
    return task


def _able(experiments: Sequence[Experiment], names: Sequence[str]) -> Sequence[Experiment]:
    """The experiments that can run here; without xgboost, those that need it are skipped."""
    from taxoexpan.experiments.methods.dist_xgboost import refuse_without_xgboost

    boosted = [experiment for experiment in experiments if experiment.method == "dist-xgboost"]
    if not boosted:
        return experiments
    try:
        refuse_without_xgboost()
    except ConfigurationError as error:
        if len(boosted) == len(experiments) or any(
            experiment.name in names for experiment in boosted
        ):
            raise
        note(f"note: {', '.join(experiment.name for experiment in boosted)} is left out: {error}")
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
        message = "only the table of SemEval-2016 Task 14 has keys to write"
        raise ConfigurationError(f"{message}; print this one into a file, with >")
    print(table_text(find_experiments([options.name]), options.runs), end="")


def _semeval_table(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.semeval.score_table import SemEvalResults
    from taxoexpan.files import write_whole
    from taxoexpan.phrasing import pluralize

    if options.semeval is None:
        message = "the table of SemEval-2016 Task 14 needs its keys"
        raise ConfigurationError(f"{message}; give the task's folder with --semeval")
    experiments = find_experiments([SEMEVAL])
    enrichment = SemEvalResults(experiments, options.runs, options.wordnet, options.semeval)
    if options.output:
        keys = {options.output / name: key for name, key in enrichment.files().items()}
        _refuse_in(options.output, list(keys), options.force)
        options.output.mkdir(parents=True, exist_ok=True)
        write_whole(keys, options.force)
        note(f"{pluralize(len(keys), 'key')} in {options.output}")
    print(enrichment.text(), end="")


def _figure(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.figures import draw, picture, refuse_without_matplotlib
    from taxoexpan.experiments.paper.run_record import task_folder
    from taxoexpan.files import write_whole

    refuse_without_matplotlib()
    if options.task and options.vectors:
        message = "--task and --vectors both choose the runs of a figure"
        raise ConfigurationError(f"{message}; give one of them")
    folder = options.output or Path()
    outputs = [folder / f"{options.name}.{kind}" for kind in ("png", "svg")]
    _refuse_in(folder, outputs, options.force)
    chosen = options.vectors
    if options.task:
        chosen = task_folder(_run_missing(options, [PICTURES[options.name]]))
    drawn = draw(options.name, options.runs, chosen)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole({path: picture(drawn, path) for path in outputs}, options.force)
    note(f"{' and '.join(str(path) for path in outputs)} written")


def _refuse_in(folder: Path, outputs: Sequence[Path], force: bool) -> None:
    """Refuse, before any work is done, files for a folder that is not there and cannot be made."""
    from taxoexpan.files import preflight

    if folder.is_dir():
        preflight(outputs, [], force)
        return
    first = folder.absolute()
    while not first.parent.exists():
        first = first.parent
    if first.exists():
        raise FormatError(folder, "is no folder; give the name of one")
    preflight([first], [], force)


def _report(options: argparse.Namespace) -> None:
    from taxoexpan.experiments.paper.results_page import report_text
    from taxoexpan.files import preflight, write_whole

    preflight([options.output], [p for p in (options.remarks,) if p], options.force)
    text = report_text(options.runs, options.pictures, _remarks(options.remarks))
    write_whole({options.output: text.encode()}, options.force)
    note(f"{options.output} written")


def _remarks(path: Path | None) -> str:
    """What the user says of the runs, if anything."""
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
