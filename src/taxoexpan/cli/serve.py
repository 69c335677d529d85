"""Answer requests of other programs with a trained model: a REST API and reconciliation."""

from __future__ import annotations

import argparse

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import add_device
from taxoexpan.cli.messages import note, print_training_advice
from taxoexpan.cli.model_arguments import add_encoder_location, add_model
from taxoexpan.cli.server_arguments import access, add_server


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_model(parser)
    add_server(parser, 8000)
    parser.add_argument(
        "--max-concepts",
        type=positive,
        default=100,
        metavar="NUMBER",
        help="largest number of concepts in one request (default: 100)",
    )
    parser.add_argument(
        "--max-waiting",
        type=positive,
        default=1000,
        metavar="NUMBER",
        help="number of concepts that may wait; further requests get the status 503 and the time "
        "to try again (default: 1000)",
    )
    parser.add_argument(
        "--max-requests",
        type=positive,
        default=256,
        metavar="NUMBER",
        help="number of requests that are answered at the same time; further ones get the status "
        "503 (default: 256)",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        dest="origins",
        metavar="URL",
        help="let web pages of this origin use reconciliation, such as http://127.0.0.1:3333; can "
        "be repeated (default: all web pages, as the specification demands)",
    )
    add_encoder_location(parser)
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl+C; requests that have begun are finished."""
    granted = access(options)
    from taxoexpan.desk.service.app import service_app
    from taxoexpan.desk.service.suggester import ServiceLimits, ServiceState
    from taxoexpan.desk.web.protection import ANY_ORIGIN
    from taxoexpan.desk.web.server import run_server
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(options.model, options.device, options.features)
    print_training_advice(model)
    limits = ServiceLimits(options.max_concepts, options.max_waiting, options.max_requests)
    state = ServiceState.of(model, options.model.resolve().name, limits)

    def announce(url: str) -> None:
        note(f"{len(state.taxonomy):,} concepts; press Ctrl+C to stop")
        print(url.partition("?")[0], flush=True)  # logs are no place for the token

    app = service_app(state, granted, options.origins or (ANY_ORIGIN,))
    run_server(app, granted, options.port, announce)
    return 0
