"""Run a Model Context Protocol (MCP) server, so that AI assistants can use a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from taxoexpan.cli.arguments import ModelOptions
from taxoexpan.cli.messages import note
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import PATH, declared_options, option
from taxoexpan.shared_options import ReadingOptions

MAX_WAITING = 1000
"""Concepts that may wait to be placed."""


@dataclass(frozen=True, kw_only=True)
class Options(ModelOptions, ReadingOptions):
    """The options of `mcp`."""

    taxonomy: Path | None = option(
        "taxonomy file that the MCP tool named check examines; reloaded when the file changes "
        "(default: the taxonomy in the model)",
        kind=PATH,
        metavar="FILE",
    )


def run(options: Options) -> int:
    """Serve one client on standard input and output until it closes standard input."""
    if find_spec("mcp") is None:
        message = "this command needs mcp, which is not installed"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[mcp]'")
    _refuse_unused_options(options)
    from taxoexpan.desk.mcp.findings import CheckedTaxonomy
    from taxoexpan.desk.mcp.server import (
        build_server,
        printing_to_standard_error,
        run_on_stdio,
    )
    from taxoexpan.desk.service.suggester import Suggester
    from taxoexpan.formats.taxonomy_file import read_options

    with printing_to_standard_error():
        path, reading = options.taxonomy, read_options(options)
        checked = CheckedTaxonomy.of_file(path, options.format, reading) if path else None
        model = options.load()
        suggester = Suggester(model, MAX_WAITING, lambda _, __: None)
        suggester.warm_up()
        checked = checked or CheckedTaxonomy.of_model(model.taxonomy)
        server = build_server(suggester, checked)
        note(f"{len(model.taxonomy):,} concepts; ready for an MCP client on standard input")
    run_on_stdio(server, suggester)
    return 0


def _refuse_unused_options(options: Options) -> None:
    """Refuse options for reading a file if no file is given."""
    if options.taxonomy is not None:
        return
    for name in declared_options(ReadingOptions):
        if getattr(options, name):
            message = "no taxonomy file is given, so it cannot be said how to read it"
            raise ConfigurationError(f"{message}; add --taxonomy FILE", name)
