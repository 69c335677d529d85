"""Runs parsers on hostile inputs: each is read or refused, in bounded time and memory."""

from __future__ import annotations

import random
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from taxoexpan.errors import TaxoExpanError
from taxoexpan.phrasing import MAX_MESSAGE
from tests.support.corruptions import Files
from tests.support.fuzz_inputs import inputs
from tests.support.fuzz_parsers import Parser

MAX_SECONDS = 20.0
"""CPU seconds for one small file; a parser without bounds needs minutes."""
MAX_MEMORY = 2 << 30
"""The bytes that the process may grow by."""


class Hang(BaseException):
    """A parser that needs too much time; no parser catches it."""


@dataclass
class Outcome:
    """How many inputs were parsed and refused, and what else happened."""

    parsed: int = 0
    refused: int = 0
    others: list[str] = field(default_factory=list)


def fuzz(parser: Parser, rounds: int, seed: int = 0) -> Outcome:
    """Run a parser on as many inputs; the same seed gives the same inputs."""
    rng = random.Random(f"{parser.name} {seed}")
    outcome = Outcome()
    with _limited_memory():
        for files in inputs(parser.samples, rounds, rng):
            with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
                _try(parser, files, Path(folder), rng, outcome)
    return outcome


def _try(parser: Parser, files: Files, folder: Path, rng: random.Random, outcome: Outcome) -> None:
    path = parser.write(files, folder)
    try:
        with _limited_time():
            parser.read(path, rng)
        outcome.parsed += 1
    except TaxoExpanError as error:
        problem = _problem_of(str(error), folder)
        if problem:
            outcome.others.append(f"{problem}: {str(error)[:300]!r} on {_shown(files)}")
        else:
            outcome.refused += 1
    except (Exception, Hang) as error:
        outcome.others.append(f"{type(error).__name__}: {str(error)[:300]} on {_shown(files)}")


def _problem_of(message: str, folder: Path) -> str:
    """Return what is wrong with an error message, if anything."""
    if len(message) > MAX_MESSAGE:
        return "too long"
    names = [path.name for path in (folder, *folder.rglob("*"))]
    return "" if any(name in message for name in names) else "names no file"


def _shown(files: Files) -> str:
    return str({name: content[:2000] for name, content in files.items()})[:4000]


@contextmanager
def _limited_time() -> Iterator[None]:
    """Raise an error after some seconds of CPU time, so that a busy machine does not count."""

    def stop(*_: object) -> None:
        raise Hang(f"more than {MAX_SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let this process grow by a limited amount, so that a larger request is a MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
