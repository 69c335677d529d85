"""Learn from a taxonomy where concepts belong, and keep the model."""

from __future__ import annotations

import argparse

from taxoexpan.cli.options import (
    add_output,
    add_taxonomy,
    add_training,
    fit_model,
    note,
    print_json,
    read_taxonomy,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_output(parser, "the model directory to make", required=True)
    add_training(parser)
    parser.add_argument("--json", action="store_true", help="the training's record on stdout")


def run(options: argparse.Namespace) -> int:
    """Train and save."""
    from taxoexpan.archive import OWN
    from taxoexpan.files import refuse_replacing

    refuse_replacing(options.output, OWN, options.force)
    taxonomy = read_taxonomy(options.taxonomy, options)
    model = fit_model(options, taxonomy)
    model.save(options.output, options.force)
    note(f"model written to {options.output}")
    if options.json:
        print_json(model.training)
    return 0
