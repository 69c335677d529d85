"""Command-line arguments of the commands that start a server."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import natural
from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.desk.web.access import Access

TOKEN_VARIABLE = "TAXOEXPAN_TOKEN"
WEB_MODULES = ("alembic", "fastapi", "jinja2", "prometheus_client", "multipart", "uvicorn")


def add_server(parser: argparse.ArgumentParser, port: int) -> None:
    """Add the address of the server and its token."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1, this machine only); any other one needs "
        "a token",
    )
    default = f"{port}" if port else "any free one"
    parser.add_argument(
        "--port",
        type=natural,
        default=port,
        help=f"port to listen on; 0 is any free one (default: {default})",
    )
    parser.add_argument(
        "--token",
        metavar="TEXT",
        help="the secret that every request must have, at least 16 letters and digits (default: "
        f"the environment variable {TOKEN_VARIABLE}, if set)",
    )


def access(options: argparse.Namespace) -> Access:
    """Return who may send requests; an address that needs a token is refused without one.

    So is a busy port: both are known before the libraries of the model are imported.
    """
    require_web_extra()
    from taxoexpan.desk.web.access import Access
    from taxoexpan.desk.web.server import listen

    allowed = Access(options.host, options.token or os.environ.get(TOKEN_VARIABLE) or None)
    listen(allowed.host, options.port).close()
    return allowed


def require_web_extra() -> None:
    """Refuse to start a server if its libraries are not installed."""
    missing = [name for name in WEB_MODULES if find_spec(name) is None]
    if missing:
        message = f"this command needs {missing[0]}, which is not installed"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[web]'")
