"""Run a Model Context Protocol (MCP) server, so that AI assistants can use a trained model."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.cli.arguments import require_extra
from taxoexpan.cli.messages import note
from taxoexpan.cli.model_options import ModelOptions
from taxoexpan.shared_options import QuietOptions

MAX_WAITING = 1000
"""Concepts that may wait to be placed."""


@dataclass(frozen=True, kw_only=True)
class Options(ModelOptions, QuietOptions):
    """The options of `mcp`."""


def run(options: Options) -> int:
    """Serve one client on standard input and output until it closes standard input."""
    require_extra("mcp", "mcp")
    from taxoexpan.desk.mcp import build_server, printing_to_standard_error, run_on_stdio
    from taxoexpan.desk.service.suggester import Suggester

    with printing_to_standard_error():
        model = options.load()
        suggester = Suggester(model, MAX_WAITING)
        suggester.warm_up()
        server = build_server(suggester)
        note(f"{len(model.taxonomy):,} concepts; ready for an MCP client on standard input")
    run_on_stdio(server)
    return 0
