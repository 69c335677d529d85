"""The log of a server: nothing in it that a request contains can control a terminal."""

from __future__ import annotations

import copy
from logging import LogRecord
from typing import Any

from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import DefaultFormatter

from taxoexpan.phrasing import visible


class VisibleFormatter(DefaultFormatter):
    """Formats messages and tracebacks; control characters are shown as escape sequences."""

    def formatMessage(self, record: LogRecord) -> str:  # noqa: N802
        """Return the line of a record."""
        record.message = visible(record.message, keep="\n\t")
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return the traceback of a record."""
        return visible(super().formatException(ei), keep="\n\t")


def log_settings() -> dict[str, Any]:
    """Return the settings of Uvicorn's log with this formatter."""
    settings = copy.deepcopy(LOGGING_CONFIG)
    settings["formatters"]["default"]["()"] = VisibleFormatter
    return settings
