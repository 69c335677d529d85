"""Learn from a taxonomy where concepts belong, and keep the model."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from taxoexpan.cli.arguments import (
    add_output,
    add_taxonomy,
    add_training,
    fit_model,
    make_model,
    read_taxonomy,
)
from taxoexpan.cli.messages import note, print_json
from taxoexpan.cli.report_output import add_report, refuse_inside, write_report
from taxoexpan.errors import FormatError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_output(parser, "the model directory to make", required=True)
    add_training(parser)
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="NEW",
        help="new concepts that will be placed, if known: skipgram:CORPUS then learns their names",
    )
    parser.add_argument("--json", action="store_true", help="the training's record on stdout")
    parser.add_argument(
        "--resume", action="store_true", help="go on where a training of this OUT was stopped"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append a line of JSON an epoch to this file"
    )
    parser.add_argument(
        "--tensorboard",
        type=Path,
        metavar="DIR",
        help="write the curves of the training for TensorBoard, which must be installed",
    )
    add_report(parser, "a report to read in a browser: what was learned, and how well")


def run(options: argparse.Namespace) -> int:
    """Train and save."""
    from taxoexpan.archive import OWN
    from taxoexpan.files import refuse_overwriting, refuse_replacing
    from taxoexpan.formats.concept_list import read_concepts

    refuse_replacing(options.output, OWN, options.force)
    if options.log:
        refuse_overwriting(options.log, force=True)  # a log is added to
    if options.tensorboard:
        from taxoexpan.training.tensorboard import check_tensorboard

        check_tensorboard(options.tensorboard)
    for path in filter(None, (options.log, options.tensorboard, options.report)):
        refuse_inside(path, options.output)
    if options.report:
        _refuse_report(options)
    expected = read_concepts(options.expect) if options.expect else []
    model = make_model(options)
    checkpoint = _checkpoint(options)
    taxonomy = read_taxonomy(options.taxonomy, options)
    fit_model(model, options, taxonomy, options.log, checkpoint, options.tensorboard, expected)
    model.save(options.output, options.force)
    note(f"model written to {options.output}")
    if model.history is not None and model.history.interrupted and checkpoint.exists():
        note(f"--resume --force goes on with the training, from {checkpoint}")
    else:
        checkpoint.unlink(missing_ok=True)
    if options.report:
        from taxoexpan.report import training_page

        title = f"A model of {options.taxonomy.name}"
        write_report(options, training_page(model, title, datetime.now(UTC)))
    if options.json:
        print_json(model.training)
    return 0


def _refuse_report(options: argparse.Namespace) -> None:
    """A report must not replace what is read, or what is written beside it."""
    from taxoexpan.files import preflight

    others = (options.expect, options.log, options.tensorboard, _checkpoint_path(options))
    preflight([options.report], [options.taxonomy, *filter(None, others)], options.force)
    refuse_inside(options.report, options.taxonomy, "is an input")


def _checkpoint_path(options: argparse.Namespace) -> Path:
    path: Path = options.output.with_name(f"{options.output.name}.checkpoint")
    return path


def _checkpoint(options: argparse.Namespace) -> Path:
    """The file beside the model that keeps an unfinished training."""
    path = _checkpoint_path(options)
    if options.resume and not path.exists():
        note(f"note: there is no {path}; the training begins anew")
    elif path.exists() and not options.resume:
        if not options.force:
            message = "an unfinished training is kept here"
            mend = "--resume goes on with it, --force begins anew"
            raise FormatError(path, f"{message}; {mend}")
        path.unlink()
    return path
