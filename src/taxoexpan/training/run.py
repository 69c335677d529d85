"""The common state of the trainings between two epochs, and checkpoints of it.

A checkpoint is a safetensors file with a checksum.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from inspect import unwrap
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Optimizer

from taxoexpan.device import random_state, set_random_state
from taxoexpan.errors import FormatError, ModelError, is_out_of_memory
from taxoexpan.files import write_whole
from taxoexpan.files.inputs import read_regular
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch, History

_FIRST_LINE = b"taxoexpan-checkpoint 3\n"
_VALUES = "values"
"""The name of the tensor with the values, as the bytes of JSON."""


@dataclass(frozen=True)
class State:
    """The state that the next epochs depend on: tensors, and JSON values."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose names start with a prefix and a dot, without the prefix."""
        start = f"{prefix}."
        named = self.tensors.items()
        return {name.removeprefix(start): t for name, t in named if name.startswith(start)}


@dataclass(frozen=True)
class Checkpoint:
    """A file for the state of one training, which `identity` distinguishes from other trainings."""

    path: Path
    identity: str

    def save(self, state: State) -> None:
        """Replace the file with this state; only warn on failure, so that the training goes on."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in state.tensors.items()}
        values = json.dumps({**state.values, "identity": self.identity}).encode()
        tensors[_VALUES] = torch.frombuffer(bytearray(values), dtype=torch.uint8)
        content = save(tensors)
        try:
            write_whole({self.path: _FIRST_LINE + _checksum_line(content) + content}, force=True)
        except FormatError as error:
            consequence = "the training goes on, but it cannot be resumed from this epoch"
            warnings.warn(f"{error}; {consequence}", stacklevel=2)

    def load(self) -> State:
        """Read the latest state; refuse a damaged file or a file of another training."""
        try:
            tensors = load(self._content())
            values = json.loads(tensors.pop(_VALUES).numpy().tobytes())
        except (OSError, SafetensorError, KeyError, ValueError):
            raise ModelError(
                f"{self.path}: not a readable checkpoint, or a damaged one, or one of "
                "another version of taxoexpan",
                fix="remove the file to train from the beginning",
            ) from None
        if values.pop("identity", None) != self.identity:
            raise ModelError(
                f"{self.path}: the checkpoint belongs to another training, with another "
                "taxonomy, seed or other settings",
                fix="use the same ones again, or remove the file",
            )
        return State(tensors, values)

    def check(self) -> None:
        """Refuse a damaged file or a file of another training, if the file exists."""
        if self.path.exists():
            self.load()

    def refuse_unused(self) -> None:
        """Refuse an existing file, because this training would neither use nor replace it."""
        if self.path.exists():
            raise ModelError(
                f"{self.path}: the checkpoint belongs to another training, because this "
                "one fine-tunes no encoder",
                fix="use the same settings again, or remove the file",
            )

    def of_tower(self) -> Checkpoint:
        """Return the checkpoint of the encoder's fine-tuning in the same training."""
        return Checkpoint(tower_path(self.path), identity_of("tower", self.identity))

    def _content(self) -> bytes:
        """Return the content of the file after verifying its checksum."""
        whole = read_regular(self.path)
        start = len(_FIRST_LINE) + len(_checksum_line(b""))
        content = whole[start:]
        if whole[:start] != _FIRST_LINE + _checksum_line(content):
            raise ValueError("the checksum is wrong")
        return content


def _checksum_line(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


def tower_path(path: Path) -> Path:
    """Return the file for the encoder's fine-tuning, next to the file of the network."""
    return path.with_name(f"{path.name}.tower")


def identity_of(*parts: object) -> str:
    """Return a digest of everything that a training depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


def without_compiler(optimizer: type[AnyOptimizer]) -> type[AnyOptimizer]:
    """Return an optimizer class that does not load torch's compiler, which takes two seconds."""
    names = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods = {name: unwrap(getattr(optimizer, name)) for name in names}
    methods["step"] = torch.no_grad()(unwrap(optimizer.step))
    return type(optimizer.__name__, (optimizer,), methods)


class Run:
    """A module in training, its optimizer, best weights and epochs, and the random numbers."""

    def __init__(self, trained: nn.Module, optimizer: Optimizer, rng: np.random.Generator) -> None:
        self.trained = trained
        self.optimizer = optimizer
        self.rng = rng
        self.history = History()
        self.lowest = math.inf
        self.parts = 1
        self.best_weights: dict[str, Tensor] = {}

    @property
    def finished_epochs(self) -> int:
        """The number of finished epochs."""
        return len(self.history.epochs)

    @torch.no_grad()
    def keep_best(self, value: float) -> bool:
        """Keep the weights if the value is lower than ever before; return whether it is."""
        if not value < self.lowest:
            return False
        self.lowest = value
        self.history.best = self.finished_epochs
        weights = self.trained.state_dict()
        # In the memory of the weights that were kept before.
        self.best_weights = self.best_weights or copy.deepcopy(weights)
        for name, tensor in weights.items():
            self.best_weights[name].copy_(tensor)
        return True

    def finish(self) -> History:
        """Restore the best weights, and return the history."""
        if self.best_weights:
            self.trained.load_state_dict(self.best_weights)
        self.trained.eval()
        return self.history

    def compute_in_parts(self, compute: Callable[[], Tensor], most: int, advice: str) -> Tensor:
        """Compute gradients, and double `self.parts` up to `most` while the memory is too small."""
        device = next(self.trained.parameters()).device
        state = random_state(device)
        while True:
            try:
                self.optimizer.zero_grad(set_to_none=True)
                return compute()
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.parts >= most:
                    message = f"the memory of {device} is too small for a single {advice}"
                    raise ModelError(message) from None
            # Outside the handler, so that the memory of the failed attempt has been released.
            self.parts *= 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            message = f"out of memory: each batch is now processed in {self.parts} parts"
            warnings.warn(message, stacklevel=2)
            set_random_state(device, state)

    def resume(self, checkpoint: Checkpoint | None) -> None:
        """Continue from the latest saved state, if there is one."""
        if checkpoint is not None and checkpoint.path.exists():
            self.restore(checkpoint.load())

    def state(self) -> State:
        """Return the state that the next epochs depend on."""
        optimizer = self.optimizer.state_dict()
        groups = {"weights": self.trained.state_dict()}
        groups |= {f"optimizer.{index}": each for index, each in optimizer["state"].items()}
        if self.history.best != self.finished_epochs:
            groups["best"] = self.best_weights
        tensors = {f"{group}.{n}": t for group, each in groups.items() for n, t in each.items()}
        values = {
            "epochs": [asdict(epoch) for epoch in self.history.epochs],
            "best": self.history.best,
            "lowest": self.lowest,
            "groups": optimizer["param_groups"],
            "draws": self.rng.bit_generator.state,
            "parts": self.parts,
        }
        return State(tensors | {"rng": torch.get_rng_state()}, values)

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""
        values = state.values
        self.trained.load_state_dict(state.group("weights"))
        best = state.group("best")
        self.best_weights = best or copy.deepcopy(self.trained.state_dict())
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in state.group("optimizer").items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        self.optimizer.load_state_dict({"state": moments, "param_groups": values["groups"]})
        self.rng.bit_generator.state = values["draws"]
        torch.set_rng_state(state.tensors["rng"])
        found = ((each, each["validation"]) for each in values["epochs"])
        epochs = [Epoch(**{**e, "validation": v and Metrics(**v)}) for e, v in found]
        self.history = History(epochs, values["best"])
        self.lowest = values["lowest"]
        self.parts = values["parts"]
