"""Tests of the choice of a device, and of its memory."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.device import choose_device
from taxoexpan.errors import ConfigurationError
from tests.support.command_line import run
from tests.support.small_models import SMALL


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_chooses_cuda_then_mps_then_cpu(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, chosen: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto") == torch.device(chosen)


@pytest.mark.parametrize("name", ["cuda:99", "hpu", "meta", "abacus", "", "cuda:x"])
def test_a_missing_device_is_refused_with_a_one_line_message(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        TaxoExpan("fast", device=name)
    message = str(caught.value)
    assert message.startswith(f"the device {name!r} cannot be used here: ")
    assert message.endswith("; choose auto, cpu, cuda or mps")
    assert "\n" not in message


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="it is there")
def test_mps_on_another_machine_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    out, missing = str(tmp_path / "model"), str(tmp_path / "missing.csv")
    message = run("train", missing, "-o", out, "--device", "mps", status=2).err
    assert message.startswith("taxoexpan: the device 'mps' cannot be used here")
    assert len(message) < 200


class DataTypes(TorchDispatchMode):
    """Records the data types of all inputs and outputs of operations."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[torch.dtype] = set()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        self.seen |= {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}
        return result


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {
            "propagation": "pgcn",
            "readout": "concat",
            "matching": "mlp",
            "negative_sampling": "sampled",
        },
        {
            "propagation": "gcn",
            "readout": "mean",
            "loss": "bce",
            "negative_sampling": "uniform",
        },
    ],
)
def test_nothing_needs_float64_which_mps_lacks(pantry: Path, variant: dict[str, Any]) -> None:
    settings: dict[str, Any] = {**SMALL, "epochs": 1, **variant}
    with DataTypes() as types:
        model = TaxoExpan("fast", device="cpu", **settings).fit(read_taxonomy(pantry))
        model.suggest(["cashew milk"])
    assert torch.float32 in types.seen
    assert torch.float64 not in types.seen


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the allocator of Linux")
def test_memory_between_objects_in_use_is_released() -> None:
    program = """
import mmap
from pathlib import Path
import torch
from taxoexpan.device import release_memory

def resident_megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE / 1e6

del [bytearray(30_000_000)][0]  # from now on, blocks of up to 30 MB come from the heap
blocks = [(torch.ones(250_000), torch.ones(5_000)) for _ in range(200)]
kept = [small for _, small in blocks]
del blocks
before = resident_megabytes()
release_memory()
assert all((small == 1).all() for small in kept)
print(before - resident_megabytes())
"""
    # In a process of its own, because earlier tests leave free memory between objects too.
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(run.stdout) > 100  # of 200 MB


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the allocator of Linux")
def test_freed_memory_is_kept_during_a_training_and_returned_after_it() -> None:
    program = """
import mmap
from pathlib import Path
import torch
from taxoexpan.device import keep_freed_memory

def resident_megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE / 1e6

torch.ones(25_000_000)
before = resident_megabytes()
with keep_freed_memory(torch.device("cpu")):
    torch.ones(25_000_000)
    print(resident_megabytes() - before)
print(resident_megabytes() - before)
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    inside, outside = map(float, run.stdout.split())
    assert inside > 90  # of 100 MB
    assert outside < 10
