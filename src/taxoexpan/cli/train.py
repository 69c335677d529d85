"""Train a model on a taxonomy and save it."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_glossary,
    add_output,
    add_report,
    add_taxonomy,
    add_training,
    read_defined_taxonomy,
    training_options,
)
from taxoexpan.cli.fitting import fit_model
from taxoexpan.cli.learning import add_continuation, read_feedback, refit_model, refuse_conflicts
from taxoexpan.cli.messages import note, print_json, write_report
from taxoexpan.errors import FormatError

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    add_output(parser, "the model directory to write", required=True)
    add_training(parser)
    parser.set_defaults(preset=None, seed=None)  # those of the model with --from
    add_continuation(parser)
    add_glossary(parser)
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="NEW",
        help="list of concepts to be placed later; used only with skipgram:CORPUS, which then "
        "learns vectors for their names",
    )
    parser.add_argument("--json", action="store_true", help="print the training record as JSON")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="resume an interrupted training that was started with the same OUT",
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append one line of JSON per epoch to this file"
    )
    parser.add_argument(
        "--tensorboard",
        type=Path,
        metavar="DIR",
        help="write the metrics of every epoch for TensorBoard, which must be installed",
    )
    add_report(parser, "also write a report to read in a browser")


def run(options: argparse.Namespace) -> int:
    """Train and save."""
    try:
        return _train(options)
    except KeyboardInterrupt:
        for path in _existing_checkpoints(options)[-1:]:
            note(f"\n--resume continues the training from {path}")
        raise


def _train(options: argparse.Namespace) -> int:
    from taxoexpan.files import output_lock

    refuse_conflicts(options)
    resumed = options.resume and bool(_existing_checkpoints(options))
    _refuse_outputs(options, options.force or resumed)
    # Two trainings with the same output would overwrite each other's checkpoints.
    with output_lock(options.output):
        model = _continued(options) if options.start else _trained(options)
        _save(options, model, options.force or resumed)
    if options.report:
        from taxoexpan.report import training_page

        page = training_page(model, f"A model of {options.taxonomy.name}", datetime.now(UTC))
        write_report(options.report, page, options.force)
    if options.json:
        print_json(model.training.as_dict())
    return 0


def _save(options: argparse.Namespace, model: TaxoExpan, replace_model: bool) -> None:
    """Save the model; its checkpoints are removed, unless Ctrl-C has ended the training."""
    is_finished = False
    try:
        model.save(options.output, replace_model)
        note(f"model written to {options.output}")
        is_finished = not model.training.interrupted
    finally:
        for path in _existing_checkpoints(options):
            if is_finished:
                path.unlink()
            else:
                note(f"--resume continues the training from {path}")


def _trained(options: argparse.Namespace) -> TaxoExpan:
    """Train a new model."""
    from taxoexpan.formats.concept_list import read_concepts

    options.preset, options.seed = options.preset or "best", options.seed or 0
    expected = read_concepts(options.expect) if options.expect else []
    model = training_options(options).new_model()
    checkpoint = _checkpoint(options)
    taxonomy = read_defined_taxonomy(options.taxonomy, options)
    fit_model(
        model,
        taxonomy,
        options.quiet,
        options.log,
        checkpoint,
        options.tensorboard,
        expected,
    )
    return model


def _continued(options: argparse.Namespace) -> TaxoExpan:
    """Continue the training of a model; the decisions are read before anything expensive."""
    feedback = read_feedback(options.decisions) if options.decisions else None
    taxonomy = read_defined_taxonomy(options.taxonomy, options)
    return refit_model(options, taxonomy, feedback)


def _refuse_outputs(options: argparse.Namespace, replace_model: bool) -> None:
    """Refuse outputs that would overwrite each other or an input."""
    from taxoexpan.files import check_directory, check_output, preflight, refuse_inside
    from taxoexpan.model_directory import OWN

    check_directory(options.output, OWN, replace_model)
    if options.log:
        check_output(options.log, force=True)  # a log is appended to
    if options.tensorboard:
        from taxoexpan.training.tensorboard import check_tensorboard

        check_tensorboard(options.tensorboard)
    for path in filter(None, (options.log, options.tensorboard, options.report)):
        refuse_inside(path, options.output)
    if options.report:
        others = (
            options.expect,
            options.glossary,
            options.start,
            options.log,
            options.tensorboard,
            *_checkpoint_paths(options),
        )
        preflight([options.report], [options.taxonomy, *filter(None, others)], options.force)
        refuse_inside(options.report, options.taxonomy, "is an input")


def _checkpoint_paths(options: argparse.Namespace) -> list[Path]:
    """Return the checkpoint files next to the model: of the network and of the fine-tuning."""
    from taxoexpan.training.checkpoint import tower_path

    path: Path = options.output.with_name(f"{options.output.name}.checkpoint")
    return [path, tower_path(path)]


def _existing_checkpoints(options: argparse.Namespace) -> list[Path]:
    return [path for path in _checkpoint_paths(options) if path.exists()]


def _checkpoint(options: argparse.Namespace) -> Path:
    """Return the network's checkpoint file; refuse to discard an existing one without --force."""
    path, existing = _checkpoint_paths(options)[0], _existing_checkpoints(options)
    if options.resume and not existing:
        note(f"note: {path} does not exist; the training starts from the beginning")
    elif existing and not options.resume:
        if not options.force:
            message = "holds an interrupted training"
            fix = "--resume continues it, --force deletes it and starts again"
            raise FormatError(existing[0], f"{message}; {fix}")
        for each in existing:
            each.unlink()
    return path
