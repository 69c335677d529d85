"""Repeat the paper's experiments: list, prepare, run, table, figure, report."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.options import add_device, add_output, note, positive

TABLES = ("main", "ablation", "loss", "sensitivity", "scalability")
PICTURES = ("loss", "sensitivity", "scalability", "cases")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the steps and their options."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    steps.add_parser("list", help="all experiments, with their published figures")
    prepare = steps.add_parser("prepare", help="make a task: a split taxonomy with its vectors")
    prepare.add_argument(
        "terms",
        type=Path,
        metavar="TERMS",
        help="a .terms file, with .taxo, .terms.validation and .terms.test beside it",
    )
    prepare.add_argument("--features", default="static", metavar="SPEC", help="see train")
    prepare.add_argument("--half", action="store_true", help="vectors in half precision")
    add_output(prepare, "the .npz file to write", required=True)
    add_device(prepare)
    run = steps.add_parser("run", help="run experiments that were not run yet")
    run.add_argument("names", nargs="+", metavar="NAME", help="such as main, or ablation/*-mlp")
    _add_running(run, required=True)
    table = steps.add_parser("table", help="the paper's table beside ours")
    table.add_argument("name", choices=TABLES)
    _add_running(table)
    figure = steps.add_parser("figure", help="a figure of the paper, as PNG and SVG")
    figure.add_argument("name", choices=PICTURES)
    figure.add_argument("--vectors", metavar="SPEC", help="of the runs with these features")
    add_output(figure, "the folder to put both in (default: here)")
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


def run(options: argparse.Namespace) -> int:
    """Do one step."""
    STEPS[options.step](options)
    return 0


def _list(_: argparse.Namespace) -> None:
    from taxoexpan.reproduce.cells import FIGURES, all_cells
    from taxoexpan.reproduce.tables import HEADS

    for cell in all_cells():
        figures = [f"{HEADS[key]} {cell.published[key]}" for key in FIGURES if cell.published]
        print(f"{cell.name:<44}{cell.title:<40}{', '.join(figures)}".rstrip())


def _prepare(options: argparse.Namespace) -> None:
    from taxoexpan.features.encoders import make_encoder
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.reproduce.tasks import halved, make_task, read_split, task_content

    preflight([options.output], [options.terms], options.force)
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(True)
    task = make_task(options.terms.stem, encoder, *read_split(options.terms))
    task = halved(task) if options.half else task
    write_whole({options.output: task_content(task)}, options.force)
    taxonomy, queries = task.problem.taxonomy, len(task.test.parents)
    note(f"{len(taxonomy):,} concepts and {queries:,} test queries in {options.output}")


def _run(options: argparse.Namespace) -> None:
    """Run what is missing, and say what each run came to."""
    from taxoexpan.devices import choose_device
    from taxoexpan.reproduce.cells import find_cells
    from taxoexpan.reproduce.running import run_cells
    from taxoexpan.reproduce.tasks import load_task

    cells = find_cells(options.names)
    task = load_task(options.task).to(choose_device(options.device))
    for done in run_cells(cells, task, options.seeds, options.runs):
        figures = done.record["test"]
        note(
            f"{done.record['cell']['title']}, seed {done.record['seed']}: MR {figures['mr']:.1f}, "
            f"Hit@1 {figures['hit_at_1']:.3f}, Hit@3 {figures['hit_at_3']:.3f}, "
            f"MRR {figures['mrr']:.3f}  ({done.record['seconds_to_fit']:.0f} s)"
        )


def _table(options: argparse.Namespace) -> None:
    from taxoexpan.reproduce.cells import find_cells
    from taxoexpan.reproduce.tables import table_text

    if options.task:
        options.names = [options.name]
        _run(options)
    print(table_text(find_cells([options.name]), options.runs), end="")


def _figure(options: argparse.Namespace) -> None:
    from taxoexpan.errors import FormatError
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.reproduce.figures import draw, picture

    folder = options.output or Path()
    if not folder.is_dir():
        raise FormatError(folder, "there is no such folder; make it first")
    outputs = [folder / f"{options.name}.{kind}" for kind in ("png", "svg")]
    preflight(outputs, [], options.force)
    if options.task:
        options.names = ["main/taxoexpan*"] if options.name == "cases" else [options.name]
        _run(options)
    drawn = draw(options.name, options.runs, options.vectors)
    write_whole({path: picture(drawn, path) for path in outputs}, options.force)
    note(f"{' and '.join(str(path) for path in outputs)} written")


def _report(options: argparse.Namespace) -> None:
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.reproduce.report import report_text

    preflight([options.output], [p for p in (options.remarks,) if p], options.force)
    remarks = options.remarks.read_text(encoding="utf-8") if options.remarks else ""
    text = report_text(options.runs, options.pictures, remarks)
    write_whole({options.output: text.encode()}, options.force)
    note(f"{options.output} written")


STEPS = {
    "list": _list,
    "prepare": _prepare,
    "run": _run,
    "table": _table,
    "figure": _figure,
    "report": _report,
}
