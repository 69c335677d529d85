"""Run a Model Context Protocol (MCP) server, so that AI assistants can use a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from taxoexpan.cli.arguments import ModelOptions
from taxoexpan.cli.messages import note
from taxoexpan.errors import ConfigurationError, FormatError
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
    path = options.taxonomy
    for name in declared_options(ReadingOptions):
        if getattr(options, name) and path is None:
            message = "no taxonomy file is given, so it cannot be said how to read it"
            raise ConfigurationError(f"{message}; add --taxonomy FILE", name)
    if path and not path.exists():
        raise FormatError(path, "no such file; give the path of a taxonomy file")
    from taxoexpan.desk.mcp import (
        CheckedTaxonomy,
        build_server,
        printing_to_standard_error,
        run_on_stdio,
    )
    from taxoexpan.desk.service.suggester import Suggester
    from taxoexpan.formats.taxonomy_file import read_options

    with printing_to_standard_error():
        reading = read_options(options)
        model = options.load()
        suggester = Suggester(model, MAX_WAITING, lambda _, __: None)
        suggester.warm_up()
        checked = CheckedTaxonomy(path or model.taxonomy, options.format, reading)
        server = build_server(suggester, checked)
        note(f"{len(model.taxonomy):,} concepts; ready for an MCP client on standard input")
    run_on_stdio(server)
    return 0
