from __future__ import annotations

import logging
import sys
from logging.config import dictConfig

import pytest

from taxoexpan.desk.web.server_log import log_settings


def test_the_log_shows_control_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    settings = log_settings()
    settings["formatters"]["default"]["use_colors"] = False
    dictConfig(settings)
    log = logging.getLogger("uvicorn.error")
    try:
        raise ValueError("bad \x1b[2J")
    except ValueError:
        log.exception("request %s failed", "\x1b]0;x\x07")
    sys.stderr.flush()
    written = capsys.readouterr().err
    assert r"request \x1b]0;x\x07 failed" in written
    assert r"ValueError: bad \x1b[2J" in written
    assert "\x1b" not in written
