"""Learn from a taxonomy where concepts belong, and keep the model."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.options import (
    add_output,
    add_taxonomy,
    add_training,
    fit_model,
    note,
    print_json,
    read_taxonomy,
)
from taxoexpan.errors import FormatError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_output(parser, "the model directory to make", required=True)
    add_training(parser)
    parser.add_argument("--json", action="store_true", help="the training's record on stdout")
    parser.add_argument(
        "--resume", action="store_true", help="go on where a training of this OUT was stopped"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append a line of JSON an epoch to this file"
    )


def run(options: argparse.Namespace) -> int:
    """Train and save."""
    from taxoexpan.archive import OWN
    from taxoexpan.files import refuse_overwriting, refuse_replacing

    refuse_replacing(options.output, OWN, options.force)
    if options.log:
        refuse_overwriting(options.log, force=True)  # a log is added to
    checkpoint = _checkpoint(options)
    taxonomy = read_taxonomy(options.taxonomy, options)
    model = fit_model(options, taxonomy, options.log, checkpoint)
    model.save(options.output, options.force)
    note(f"model written to {options.output}")
    if model.history is not None and model.history.interrupted:
        note(f"--resume --force goes on with the training, from {checkpoint}")
    else:
        checkpoint.unlink(missing_ok=True)
    if options.json:
        print_json(model.training)
    return 0


def _checkpoint(options: argparse.Namespace) -> Path:
    """The file beside the model that keeps an unfinished training."""
    path: Path = options.output.with_name(f"{options.output.name}.checkpoint")
    if options.resume and not path.exists():
        note(f"note: there is no {path}; the training begins anew")
    elif path.exists() and not options.resume:
        if not options.force:
            message = "an unfinished training is kept here"
            mend = "--resume goes on with it, --force begins anew"
            raise FormatError(path, f"{message}; {mend}")
        path.unlink()
    return path
