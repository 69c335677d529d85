"""Answer requests of other programs with a trained model: a REST API and reconciliation."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.cli.arguments import ModelOptions, ServerOptions
from taxoexpan.cli.messages import note
from taxoexpan.options import NATURAL, POSITIVE, option, repeated


@dataclass(frozen=True, kw_only=True)
class Options(ModelOptions, ServerOptions):
    """The options of `serve`."""

    port: int = option("port to listen on; 0 is any free one", 8000, NATURAL)
    max_concepts: int = option(
        "largest number of concepts in one request", 100, POSITIVE, metavar="NUMBER"
    )
    max_waiting: int = option(
        "number of concepts that may wait; further requests get the status 503 and the time to try "
        "again",
        1000,
        POSITIVE,
        metavar="NUMBER",
    )
    max_requests: int = option(
        "number of requests that are answered at the same time; further ones get the status 503",
        256,
        POSITIVE,
        metavar="NUMBER",
    )
    origins: tuple[str, ...] = repeated(
        "let web pages of this origin use reconciliation, such as http://127.0.0.1:3333; can be "
        "repeated (default: all web pages, as the specification demands)",
        metavar="URL",
        flags=("--allow-origin",),
    )


def run(options: Options) -> int:
    """Serve until SIGTERM or Ctrl+C; requests that have begun are finished."""
    granted = options.access()
    from taxoexpan.desk.service.app import service_app
    from taxoexpan.desk.service.suggester import ServiceLimits, ServiceState
    from taxoexpan.desk.web.protection import ANY_ORIGIN
    from taxoexpan.desk.web.server import run_server

    model = options.load()
    limits = ServiceLimits(options.max_concepts, options.max_waiting, options.max_requests)
    state = ServiceState.of(model, options.model.resolve().name, limits)

    def announce(url: str) -> None:
        note(f"{len(state.taxonomy):,} concepts; press Ctrl+C to stop")
        print(url.partition("?")[0], flush=True)  # logs are no place for the token

    app = service_app(state, granted, options.origins or (ANY_ORIGIN,))
    run_server(app, granted, options.port, announce)
    return 0
