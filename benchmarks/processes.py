"""CPU seconds of whole commands: products, start, and other programs on the same cores."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy

PROGRAMS_PER_CORE, ROUNDS = 2, 3
TAXOEXPAN = (sys.executable, "-m", "taxoexpan")


def print_processes(with_busy_cores: bool) -> None:
    """Print the ratios of a training, also on busy cores, and of `suggest` and torch."""
    foods = str(resources.files("taxoexpan").joinpath("data/food.csv"))
    products = product_seconds(read_taxonomy(foods))
    with tempfile.TemporaryDirectory() as folder:
        model, new = str(Path(folder) / "model"), Path(folder) / "new.csv"
        new.write_text("label\ncold brew coffee\n", encoding="utf-8")
        train = [*TAXOEXPAN, "train", foods, "-o", model, "--force"]
        idle = cpu_seconds(train)
        what = "train, with its start / the bare products of the training"
        print_seconds(idle / products, what, 15.0, idle)
        if with_busy_cores:
            with busy_cores():
                busy = cpu_seconds(train)
            what = f"train, {PROGRAMS_PER_CORE} other programs per core / idle cores"
            print_seconds(busy / idle, what, 1.15, busy)
        commands = [*TAXOEXPAN, "suggest", model, str(new)], [sys.executable, "-c", "import torch"]
        rounds = [[cpu_seconds(command) for command in commands] for _ in range(ROUNDS)]
    suggest, torch_alone = map(min, zip(*rounds, strict=True))
    what = "suggest of one term / an interpreter that imports torch"
    print_seconds(suggest / torch_alone, what, 1.5, suggest)


def print_seconds(ratio: float, what: str, good: float, seconds: float) -> None:
    """Print a ratio of CPU times."""
    print(f"{ratio:6.2f} × {what}, CPU time  (good: {good} or less; {seconds:.1f} s)", flush=True)


def product_seconds(taxonomy: Taxonomy) -> float:
    """Return the CPU time that the products of a training take at the speed of a bare product."""
    with FlopCounterMode(display=False) as counter:
        TaxoExpan(device="cpu").fit(taxonomy)
    rows, weights = torch.rand(1024, 384), torch.rand(1536, 384)
    began, count = time.process_time(), 200
    for _ in range(count):
        torch.nn.functional.linear(rows, weights)
    each = (time.process_time() - began) / count
    return float(counter.get_total_flops()) * each / (2 * rows.numel() * len(weights))


def cpu_seconds(command: Sequence[str]) -> float:
    """Run a command without cached vectors, and return its CPU time, including its start."""
    before, environment = os.times(), {**os.environ, "TAXOEXPAN_CACHE": ""}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


@contextmanager
def busy_cores() -> Iterator[None]:
    """Run programs that compute without pause."""
    count = PROGRAMS_PER_CORE * (os.cpu_count() or 1)
    loop = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(loop) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
