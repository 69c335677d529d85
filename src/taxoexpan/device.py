"""The device of a model, and its memory."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from taxoexpan.errors import ConfigurationError

CPU = torch.device("cpu")
"""The device of the host."""

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""The numbers of two parameters of `mallopt` in glibc's malloc.h."""


def choose_device(name: str) -> torch.device:
    """Return the device with this name; `auto` takes CUDA if available, then MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(str(name))
        torch.zeros(1, device=device).item()  # fails if the device cannot hold numbers
    except (RuntimeError, AssertionError, ImportError) as error:
        message = str(error).partition("\n")[0].partition(". ")[0]  # torch's message is a page long
        raise ConfigurationError(
            f"the device {name!r} cannot be used here: {message}",
            fix="choose auto, cpu, cuda or mps",
        ) from None
    return device


def random_state(device: torch.device) -> torch.Tensor:
    """Return the state of the random generator of a device."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(device: torch.device, state: torch.Tensor) -> None:
    """Restore the state of the random generator of a device."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)


def memory_of(device: torch.device) -> int | None:
    """Return the memory of a GPU in bytes, or None for a device that uses the host's memory."""
    if device.type != "cuda":
        return None
    return int(torch.cuda.get_device_properties(device).total_memory)


def move_to(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a tensor on a device, without waiting for the transfer to a GPU."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # only pinned memory is copied while the host goes on
    return tensor.to(device, non_blocking=True)


@contextmanager
def fast_matmul(device: torch.device) -> Iterator[None]:
    """Let a GPU multiply matrices in TF32, which is faster but only exact enough for training."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        if device.type == "cuda":
            torch.set_float32_matmul_precision(before)


@contextmanager
def keep_freed_memory(device: torch.device) -> Iterator[None]:
    """Let a CPU reuse the memory of large arrays instead of returning it to the operating system.

    By default, glibc returns arrays of more than 32 MB, which costs a third of a training step.
    """
    mallopt = _glibc("mallopt")
    if device.type != "cpu" or mallopt is None:
        yield
        return
    mallopt(_MMAP_THRESHOLD, 2**30)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        mallopt(_MMAP_THRESHOLD, 2**25)  # where glibc arrives by itself
        mallopt(_TRIM_THRESHOLD, 2**26)
        release_memory()


def release_memory() -> None:
    """Return free memory between used blocks to the operating system, which glibc does not do."""
    if trim := _glibc("malloc_trim"):
        trim(0)


def _glibc(name: str) -> Callable[..., int] | None:
    """Return a function of glibc; None if there is another library, such as musl."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
