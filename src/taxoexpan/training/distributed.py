"""The processes of one training, which share the work of every batch; torchrun starts them.

Every process draws the same batches and has the same weights. It computes the gradient of its own
part of a batch, and the gradients are added up. So the result is that of one process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from taxoexpan.errors import ConfigurationError, ModelError, is_out_of_memory

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

T = TypeVar("T")

TIMEOUT = timedelta(days=1)
"""How long to wait for another process, which may validate; torchrun notices one that has died."""
LARGE = 1_000_000
"""Numbers of a tensor that is sent as a message of its own."""


@dataclass(frozen=True)
class Processes:
    """One process among those of a training; without a group it is the only one.

    Args:
        rank: the number of this process.
        count: the number of processes.
        group: the connection to the others.
    """

    rank: int = 0
    count: int = 1
    group: dist.ProcessGroup | None = None

    @property
    def is_first(self) -> bool:
        """Whether this process reports, validates and writes files."""
        return self.rank == 0

    @property
    def is_alone(self) -> bool:
        """Whether there is nobody to share the work with."""
        return self.group is None

    def own_columns(self, count: int) -> tuple[int, int]:
        """Return the first one, and the one after the last, of this process's share of columns."""
        return count * self.rank // self.count, count * (self.rank + 1) // self.count

    def own_blocks(self, costs: Sequence[int]) -> list[int]:
        """Return the indices of the blocks for this process, so that the costs are balanced."""
        loads, own = [0] * self.count, []
        for block in sorted(range(len(costs)), key=lambda block: -costs[block]):
            process = loads.index(min(loads))
            loads[process] += costs[block]
            if process == self.rank:
                own.append(block)
        return sorted(own)

    def add_up(self, *tensors: Tensor) -> None:
        """Replace tensors by their sums over all processes."""
        if self.group is None:
            return
        small = [tensor for tensor in tensors if tensor.numel() < LARGE]
        for tensor in tensors:
            if tensor.numel() >= LARGE:
                self._exchange(self.group.allreduce, tensor)
        # Small ones in one message per type, because every message takes time to start.
        for dtype in dict.fromkeys(tensor.dtype for tensor in small):
            alike = [tensor for tensor in small if tensor.dtype == dtype]
            joined = torch.cat([tensor.reshape(-1) for tensor in alike])
            self._exchange(self.group.allreduce, joined)
            sums = joined.split([tensor.numel() for tensor in alike])
            for tensor, part in zip(alike, sums, strict=True):
                tensor.copy_(part.view_as(tensor))

    def add_up_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Add up the gradients; a parameter that no process has used keeps none."""
        if self.group is None:
            return
        used = torch.tensor([parameter.grad is not None for parameter in parameters]).int()
        self.add_up(used)
        changed = [p for p, count in zip(parameters, used.tolist(), strict=True) if count]
        for parameter in changed:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.add_up(*(p.grad for p in changed if p.grad is not None))

    def share(self, compute: Callable[[], Any]) -> Any:
        """Let the first process compute a value that JSON can store, and give it to all."""
        if self.group is None:
            return compute()
        text = json.dumps(compute()).encode() if self.is_first else b""
        size = torch.tensor([len(text)])
        self._exchange(self.group.broadcast, size)
        sent = torch.zeros(int(size), dtype=torch.uint8)
        if self.is_first:
            sent = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self._exchange(self.group.broadcast, sent)
        return json.loads(sent.numpy().tobytes())

    def attempt(self, work: Callable[[], T]) -> T:
        """Do some work; if the memory of one process is too small, raise an error in all."""
        results: list[T] = []
        try:
            results.append(work())
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        if self._is_true_anywhere(not results):
            raise MemoryError("out of memory")
        return results[0]

    def first_before_others(self, work: Callable[[], T]) -> T:
        """Do some work in the first process, then in the others, which find its cached results."""
        if self.is_first:
            result = work()
        self._wait_for_all()
        if not self.is_first:
            result = work()
        return result

    def refuse_difference(self, epoch: int) -> None:
        """Raise an error if another process continues with another epoch."""
        if self._is_true_anywhere(self.share(lambda: epoch) != epoch):
            raise ModelError(
                "the processes found different checkpoints; the folder of the model must be the "
                "same for all of them, on a shared disk"
            )

    def leave(self) -> None:
        """End this process, unless it is the first one, which goes on alone."""
        self._wait_for_all()
        if self.group is not None:
            dist.destroy_process_group()
        if not self.is_first:
            sys.exit()

    def _is_true_anywhere(self, flag: bool) -> bool:
        found = torch.tensor([int(flag)])
        self.add_up(found)
        return bool(found)

    def _wait_for_all(self) -> None:
        self._is_true_anywhere(False)

    def _exchange(self, send: Callable[[list[Tensor]], dist.Work], tensor: Tensor) -> None:
        """Send a tensor to the other processes, and wait for theirs."""
        try:
            send([tensor]).wait()
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            reason = str(error).partition("\n")[0]
            raise ModelError(
                f"the connection to another process of the training was lost ({reason}); perhaps "
                "it was killed because the machine has too little memory for so many processes"
            ) from None


ALONE = Processes()


def own_device(name: str) -> str:
    """Return the device of a process that torchrun has started: each one uses another GPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "mps":
        message = "several processes cannot share the device 'mps'"
        raise ConfigurationError(f"{message}; choose cpu, or train in one process")
    if name == "cuda" and torch.cuda.is_available():
        return f"cuda:{int(os.environ['LOCAL_RANK']) % torch.cuda.device_count()}"
    return name


def join_processes(store: Store, rank: int, count: int, requested: str) -> Processes:
    """Connect this process with the others; `requested` is the device that the user has named.

    GPUs communicate by NCCL, which needs one GPU per process. Otherwise it is Gloo.
    """
    backend, device = "gloo", own_device(requested)
    if device.startswith("cuda:"):
        torch.cuda.set_device(device)
        is_shared = int(os.environ["LOCAL_WORLD_SIZE"]) > torch.cuda.device_count()
        if requested in ("auto", "cuda") and not is_shared:
            backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    return Processes(rank, count, dist.group.WORLD)
