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


def print_processes() -> None:
    """Print the ratios of a training, on busy and on idle cores, and of `suggest` and torch."""
    foods = str(resources.files("taxoexpan").joinpath("data/food.csv"))
    products = product_seconds(read_taxonomy(foods))
    with tempfile.TemporaryDirectory() as folder:
        model, new = str(Path(folder) / "model"), Path(folder) / "new.csv"
        new.write_text("label\ncold brew coffee\n", encoding="utf-8")
        train = [*TAXOEXPAN, "train", foods, "-o", model, "--force"]
        idle = cpu_seconds(train)
        what = "train, with its start / the bare products of the training"
        print(f"{idle / products:6.2f} × {what}, CPU time  ({idle:.1f} s)", flush=True)
        with busy_cores():
            busy = cpu_seconds(train)
        what = f"train, {PROGRAMS_PER_CORE} other programs per core / idle cores"
        print(f"{busy / idle:6.2f} × {what}, CPU time  ({busy:.1f} s)", flush=True)
        commands = [*TAXOEXPAN, "suggest", model, str(new)], [sys.executable, "-c", "import torch"]
        rounds = [[cpu_seconds(command) for command in commands] for _ in range(ROUNDS)]
    suggest, torch_alone = map(min, zip(*rounds, strict=True))
    what = "suggest of one term / an interpreter that imports torch, CPU time"
    print(f"{suggest / torch_alone:6.2f} × {what}  ({suggest:.2f} s)", flush=True)


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
