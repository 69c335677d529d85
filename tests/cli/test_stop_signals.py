"""Ctrl-C and SIGTERM at given moments: when a module is imported, in a destructor, at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from taxoexpan.cli import check
from taxoexpan.cli.main import main
from taxoexpan.cli.stop_signals import StopSignals
from taxoexpan.errors import ModelError

START = """
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class PressCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            os.kill(os.getpid(), NUMBER)

sys.meta_path.insert(0, PressCtrlC())
sys.argv = ["taxoexpan", "check", sys.argv[1]]
runpy.run_module("taxoexpan", run_name="__main__")
"""
AT_EXIT = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(lambda: [os.kill(os.getpid(), NUMBER), sum(range(10**6))])
sys.argv = ["taxoexpan", "check", sys.argv[1]]
from taxoexpan.__main__ import main
sys.exit(main())
"""


def run(code: str, number: signal.Signals, argument: Path) -> tuple[int, str]:
    code = code.replace("NUMBER", str(int(number)))
    command = [sys.executable, "-c", code, str(argument)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    status = 128 - done.returncode if done.returncode < 0 else done.returncode  # as in a shell
    return status, done.stderr


@pytest.mark.parametrize("module", ["argparse", "taxoexpan.cli.update", "taxoexpan.curation"])
def test_ctrl_c_during_an_import_prints_no_traceback(pantry: Path, module: str) -> None:
    code = START.replace("MODULE", repr(module))
    assert run(code, signal.SIGINT, pantry) == (130, "\ntaxoexpan: stopped\n")


def test_sigterm_during_an_import_prints_nothing(pantry: Path) -> None:
    code = START.replace("MODULE", repr("taxoexpan.curation"))
    assert run(code, signal.SIGTERM, pantry) == (143, "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_python_ends_prints_no_traceback(
    pantry: Path, number: signal.Signals, status: int
) -> None:
    assert run(AT_EXIT, number, pantry) == (status, "")


@pytest.fixture(autouse=True)
def _ctrl_c_is_handled() -> None:
    """In the background SIGINT would be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    ("number", "status", "message"),
    [(signal.SIGINT, 130, "\ntaxoexpan: stopped\n"), (signal.SIGTERM, 143, "")],
)
@pytest.mark.parametrize(
    "error", [ImportError("a module was only half imported"), ModelError("the model is damaged")]
)
def test_an_error_that_a_signal_has_caused_is_not_reported(
    error: Exception,
    number: signal.Signals,
    status: int,
    message: str,
    pantry: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_: object) -> int:
        try:
            signal.raise_signal(number)
        finally:
            raise error

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(check, "run", interrupted)
    assert main(["check", str(pantry)]) == status
    assert capsys.readouterr().err == message
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_second_signal_does_not_disturb_the_first() -> None:
    with StopSignals() as signals:
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as stopped:
            status = signals.exit_status(stopped)
        assert status == 143
        signals.report(status)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)


def test_ctrl_c_in_a_destructor_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    class Part:
        pass

    part = Part()
    weakref.finalize(part, signal.raise_signal, signal.SIGINT)
    parts = [part]
    del part
    with StopSignals(), pytest.raises(KeyboardInterrupt):
        time.sleep(30 + len(parts.pop().__dict__))
    assert capsys.readouterr().err == ""


def test_an_ignored_signal_stays_ignored() -> None:
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)
