"""A clock that runs backwards, and files of the future, change no result."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from forked_processes import fork_and_wait

from taxoexpan.cli.main import main


def turn_back_clock() -> None:
    """Let every look at the clock of this process show an earlier hour."""
    hours: Iterator[int] = count()
    real = time.time
    time.time = lambda: real() - 3600 * next(hours)  # type: ignore[assignment]
    time.time_ns = lambda: int(time.time() * 1e9)


def test_a_conversion_does_not_depend_on_the_clock(pantry: Path, tmp_path: Path) -> None:
    taxonomy = tmp_path / "taxonomy.csv"
    taxonomy.write_bytes(pantry.read_bytes())
    assert main(["convert", str(taxonomy), str(tmp_path / "now.ttl")]) == 0
    os.utime(taxonomy, (2**32, 2**32))

    def convert() -> int:
        turn_back_clock()
        return main(["convert", str(taxonomy), str(tmp_path / "then.ttl")])

    assert fork_and_wait(convert) == 0
    assert (tmp_path / "then.ttl").read_bytes() == (tmp_path / "now.ttl").read_bytes()


@pytest.mark.slow
def test_a_training_does_not_depend_on_the_clock(pantry: Path, tmp_path: Path) -> None:
    options = ["--preset", "fast", "--epochs", "2", "--device", "cpu", "--quiet"]

    def train(name: str) -> int:
        return main(["train", str(pantry), "-o", str(tmp_path / name), *options])

    def train_in_the_past() -> int:
        turn_back_clock()
        return train("then")

    assert fork_and_wait(lambda: train("now")) == 0
    assert fork_and_wait(train_in_the_past) == 0
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("now", "then")]
    assert weights[0] == weights[1]
