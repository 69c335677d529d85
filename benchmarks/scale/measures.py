"""Time, memory, and the machine that they are measured on."""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")

MEBIBYTE = 2**20


class Clock:
    """Measures CPU time on a CPU, and time on the clock with a synchronized GPU."""

    def __init__(self, device: torch.device) -> None:
        self.is_gpu = device.type == "cuda"

    def now(self) -> float:
        """Return the seconds since some moment."""
        if self.is_gpu:
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    def timed(self, work: Callable[[], Result]) -> tuple[Result, float]:
        """Return a result, and the seconds that it took."""
        began = self.now()
        result = work()
        return result, self.now() - began


CPU_CLOCK = Clock(torch.device("cpu"))


def in_own_process(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of a function in a new process, whose peak memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_memory() -> float:
    """Return the peak memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MEBIBYTE if sys.platform == "darwin" else 1024)


def describe_machine(device: str) -> str:
    """Return the name of the GPU, or the architecture of the CPU."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(torch.device(device))
    return f"{platform.machine()}, {platform.system()}"
