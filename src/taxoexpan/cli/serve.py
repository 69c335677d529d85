"""Serve a trained model over a REST API, with a reconciliation service for OpenRefine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import require_extra
from taxoexpan.cli.messages import note
from taxoexpan.cli.model_options import ModelOptions
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import NATURAL, POSITIVE, OptionGroup, option, repeated
from taxoexpan.shared_options import QuietOptions

if TYPE_CHECKING:
    from taxoexpan.desk.web.access import Access


TOKEN_VARIABLE = "TAXOEXPAN_TOKEN"
LEVEL_VARIABLE = "TAXOEXPAN_LOG_LEVEL"
LEVELS = ("debug", "info", "warning", "error")
REVIEW_PORT = 8001
"""The same port every time, so that bookmarks of pages work."""
WEB_MODULES = ("fastapi", "prometheus_client", "multipart", "sqlalchemy", "uvicorn")


@dataclass(frozen=True, kw_only=True)
class ServerOptions(OptionGroup):
    """The address of a server, and its token."""

    host: str = option(
        "address to listen on (default: 127.0.0.1, only this machine); any other address "
        "requires a token",
        "127.0.0.1",
        metavar="ADDRESS",
    )
    port: int | None = option(
        f"port to listen on; 0 selects a free port (default: {REVIEW_PORT}, or the next free port)",
        kind=NATURAL,
    )
    token: str | None = option(
        "secret token that clients must send with every request, at least 16 characters (default: "
        f"the environment variable {TOKEN_VARIABLE}, if set)",
        metavar="TEXT",
    )
    log_level: str | None = option(
        "messages to log on standard error; info and debug log every request, without its "
        f"parameters (default: the environment variable {LEVEL_VARIABLE}, if set; otherwise info "
        "for serve without --quiet, and warning for review)",
        choices=LEVELS,
    )

    def access(self) -> Access:
        """Return the access rules; refuse a missing token or a busy port before slow imports."""
        require_extra("web", *WEB_MODULES)
        from taxoexpan.desk.web.access import Access
        from taxoexpan.desk.web.server import listen

        allowed = Access(self.host, self.token or os.environ.get(TOKEN_VARIABLE) or None)
        listen(allowed.host, self.port or 0).close()
        return allowed

    def chosen_level(self, default: str) -> str:
        """Return the log level of the option or the environment, or `default`."""
        level = self.log_level or os.environ.get(LEVEL_VARIABLE) or default
        if level not in LEVELS:
            message = f"{LEVEL_VARIABLE} is {level!r}"
            raise ConfigurationError(message, fix=f"choose from {', '.join(LEVELS)}")
        return level


@dataclass(frozen=True, kw_only=True)
class Options(ModelOptions, ServerOptions, QuietOptions):
    """The options of `serve`."""

    port: int = option("port to listen on; 0 selects a free port", 8000, NATURAL)
    max_concepts: int = option(
        "maximum number of concepts per request", 100, POSITIVE, metavar="NUMBER"
    )
    max_waiting: int = option(
        "maximum number of queued concepts; further requests are rejected with status 503",
        1000,
        POSITIVE,
        metavar="NUMBER",
    )
    max_requests: int = option(
        "maximum number of concurrent requests; further requests are rejected with status 503",
        256,
        POSITIVE,
        metavar="NUMBER",
    )
    origins: tuple[str, ...] = repeated(
        "origin from which web pages may use the reconciliation service, for example "
        "http://127.0.0.1:3333; can be repeated (default: all origins, as the reconciliation "
        "specification requires)",
        metavar="URL",
        flags=("--allow-origin",),
    )


def run(options: Options) -> int:
    """Serve until SIGTERM or Ctrl+C, and finish requests that have begun."""
    granted = options.access()
    level = options.chosen_level("warning" if options.quiet else "info")
    from taxoexpan.desk.service.app import service_app
    from taxoexpan.desk.service.suggester import ServiceLimits, ServiceState
    from taxoexpan.desk.web.protection import ANY_ORIGIN
    from taxoexpan.desk.web.server import run_server

    model = options.load()
    limits = ServiceLimits(options.max_concepts, options.max_waiting, options.max_requests)
    state = ServiceState.of(model, options.model.resolve().name, limits)

    def announce(url: str) -> None:
        note(f"{len(state.taxonomy):,} concepts; press Ctrl+C to stop")
        print(url, flush=True)

    app = service_app(state, granted, options.origins or (ANY_ORIGIN,))
    run_server(app, granted, options.port, announce, log_level=level)
    return 0
