"""Let an assistant use a trained model: a server of the Model Context Protocol (MCP)."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from taxoexpan.cli.arguments import add_device, add_read_options, read_options
from taxoexpan.cli.messages import note, print_training_advice
from taxoexpan.cli.model_arguments import add_encoder_location, add_model
from taxoexpan.errors import ConfigurationError

MAX_WAITING = 1000
"""Concepts that may wait to be placed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_model(parser)
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="FILE",
        help="the taxonomy file that the tool check looks at; it is read again when it has changed "
        "(default: the taxonomy in the model)",
    )
    add_read_options(parser)
    add_encoder_location(parser)
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Answer one client on standard input and output until it closes standard input."""
    if find_spec("mcp") is None:
        message = "this command needs mcp, which is not installed"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[mcp]'")
    _refuse_unused_options(options)
    from taxoexpan.desk.assistant.findings import CheckedTaxonomy
    from taxoexpan.desk.assistant.server import build_server
    from taxoexpan.desk.assistant.stdio import printing_to_standard_error, run_on_stdio
    from taxoexpan.desk.service.suggester import Suggester
    from taxoexpan.model import TaxoExpan

    with printing_to_standard_error():
        path, reading = options.taxonomy, read_options(options)
        checked = CheckedTaxonomy.of_file(path, options.format, reading) if path else None
        model = TaxoExpan.load(options.model, options.device, options.features)
        print_training_advice(model)
        suggester = Suggester(model, MAX_WAITING, lambda _, __: None)
        suggester.warm_up()
        checked = checked or CheckedTaxonomy.of_model(model.taxonomy)
        server = build_server(suggester, checked)
        note(f"{len(model.taxonomy):,} concepts; ready for an MCP client on standard input")
    run_on_stdio(server, suggester)
    return 0


def _refuse_unused_options(options: argparse.Namespace) -> None:
    """Refuse options for reading a file if there is none."""
    if options.taxonomy is not None:
        return
    for name in ("format", "language", "columns", "sheet", "instances"):
        if getattr(options, name):
            message = f"--{name} is about a taxonomy file, but none is given"
            raise ConfigurationError(f"{message}; add --taxonomy FILE, or omit --{name}")
