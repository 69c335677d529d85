"""The health check of the container: asks `taxoexpan serve`; other commands are always healthy."""

from __future__ import annotations

import sys
from http.client import HTTPConnection
from pathlib import Path

DEFAULT_PORT = 8000
SECONDS = 4


def port_of(arguments: list[str]) -> int | None:
    """Return the port that a command line serves on; None if it does not serve."""
    if "serve" not in arguments:
        return None
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--port":
            return int(value if equals else arguments[position + 1])
    return DEFAULT_PORT


def is_healthy(port: int) -> bool:
    """Return whether the server on a port of this machine says that it is well."""
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def main(command_line: Path = Path("/proc/1/cmdline")) -> int:
    """Return 0 if the container is healthy, else 1, as Docker wants it."""
    port = port_of(command_line.read_bytes().decode("utf-8", "replace").split("\0"))
    return 0 if port is None or is_healthy(port) else 1


if __name__ == "__main__":
    sys.exit(main())
