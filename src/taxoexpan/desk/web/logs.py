"""The log of a server: the loggers, and one line per request without anything secret."""

from __future__ import annotations

import copy
import logging
import time
from logging import LogRecord
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import DefaultFormatter

from taxoexpan.desk.web.access import Access
from taxoexpan.phrasing import shortened, visible

LOGGER = "taxoexpan"
"""The logger of this package; the lines about requests are of its child `access`."""
MAX_PATH = 300
MAX_METHOD = 20
HIDDEN = "***"
"""It replaces a token, or a key made from it, in a path."""
PATH_SIGNS = "/:@!$&'()*+,;=~-._"
"""Characters of a path that mean only themselves in a line; the others are encoded."""
TIME = "%Y-%m-%dT%H:%M:%S%z"

_access_log = logging.getLogger(f"{LOGGER}.access")


class VisibleFormatter(DefaultFormatter):
    """A log formatter that shows control characters as escape sequences."""

    def format(self, record: LogRecord) -> str:
        """Return the log line of a record, with its traceback."""
        return visible(super().format(record), keep="\n\t")


def log_settings(level: str = "warning") -> dict[str, Any]:
    """Return Uvicorn's log settings with this formatter, and with the logger of this package."""
    settings = copy.deepcopy(LOGGING_CONFIG)
    settings["formatters"]["default"]["()"] = VisibleFormatter
    settings["formatters"][LOGGER] = {
        "()": VisibleFormatter,
        "fmt": "%(asctime)s %(levelname)s %(message)s",
        "datefmt": TIME,
        "use_colors": False,
    }
    settings["handlers"][LOGGER] = {"class": "logging.StreamHandler", "formatter": LOGGER}
    settings["loggers"][LOGGER] = {
        "handlers": [LOGGER],
        "level": level.upper(),
        "propagate": False,
    }
    return settings


def server_level(level: str) -> str:
    """Return the level of Uvicorn's own messages, of which users need few."""
    return "warning" if level == "info" else level


def log_requests(app: ASGIApp, access: Access) -> ASGIApp:
    """Return the app with a line in the log for every request."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _access_log.isEnabledFor(logging.INFO):
            await app(scope, receive, send)
            return
        began = time.perf_counter()
        path = shown_path(scope["path"], access)  # before a key is removed from it
        status = "-"  # the client may go before an answer

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await app(scope, receive, send_and_note)
        finally:
            method = shortened(scope["method"], MAX_METHOD)
            milliseconds = 1000 * (time.perf_counter() - began)
            _access_log.info("%s %s %s %.1f ms", method, path, status, milliseconds)

    return answer


def shown_path(path: str, access: Access) -> str:
    """Return a path for a log: one word, not too long, and without the token or its keys."""
    for secret in access.secrets():
        path = path.replace(secret, HIDDEN)
    return shortened(quote(path, PATH_SIGNS, errors="replace"), MAX_PATH)
