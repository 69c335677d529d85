"""Where a model computes, and how."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from taxoexpan.errors import ConfigurationError


def choose_device(name: str) -> torch.device:
    """The device of this name; `auto` takes CUDA where there is one, then MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(str(name))
        torch.zeros(1, device=device).item()  # a device that holds no numbers fails here
    except (RuntimeError, AssertionError, ImportError) as error:
        message = str(error).partition("\n")[0].partition(". ")[0]  # torch goes on for a page
        raise ConfigurationError(
            f"the device {name!r} cannot be used here: {message}; choose auto, cpu, cuda or mps"
        ) from None
    return device


@contextmanager
def quick_products(device: torch.device) -> Iterator[None]:
    """Let a GPU multiply matrices in TF32, which is several times faster and exact enough to learn.

    A model is used in full precision.
    """
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        if device.type == "cuda":
            torch.set_float32_matmul_precision(before)
