"""Runs commands of the command line in this process."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

from taxoexpan.cli.main import main


class Printed(NamedTuple):
    """What a command has printed."""

    out: str
    err: str


class _Stream(TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(BytesIO(), "utf-8", newline="", write_through=True)

    def text(self) -> str:
        self.seek(0)
        return self.read()


def run(*arguments: object, status: int = 0) -> Printed:
    """Run a command, check its exit status, and return what it has printed."""
    out, err = _Stream(), _Stream()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            found = main(list(map(str, arguments)))
        except SystemExit as error:
            found = error.code  # type: ignore[assignment]  # argparse gives a number
    printed = Printed(out.text(), err.text())
    assert found == status, printed.err
    return printed
