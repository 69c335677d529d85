"""The state of a training between two epochs, stored in a file so that it can be continued.

The file is one line with its version, one line with the checksum of all that follows, and
safetensors. A single changed bit is noticed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor
from torch.optim import Optimizer

from taxoexpan.errors import FormatError, ModelError, is_out_of_memory
from taxoexpan.files import write_whole
from taxoexpan.files.inputs import read_regular

_FIRST_LINE = b"taxoexpan-checkpoint 2\n"
_VALUES = "values"
"""The name of the tensor with the values, as the bytes of JSON."""


@dataclass(frozen=True)
class State:
    """Everything that the next epochs depend on: tensors, and values that JSON can store."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]

    def count(self, name: str, least: int = 0) -> int:
        """Return a value that is a whole number, at least so large; another one is a ValueError."""
        value = self.values[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
            raise ValueError(f"{name} is not such a number")
        return value

    def number(self, name: str) -> float:
        """Return a value that is a number, maybe infinity; another one is a ValueError."""
        value = self.values[name]
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            raise ValueError(f"{name} is not a number")
        return value


class Resumable(Protocol):
    """A training that can be continued from a state."""

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""


@dataclass(frozen=True)
class Checkpoint:
    """A file for the state of one training, which `identity` distinguishes from all others."""

    path: Path
    identity: str

    def save(self, state: State) -> None:
        """Replace the file by this state, completely or not at all."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in state.tensors.items()}
        values = json.dumps({**state.values, "identity": self.identity}).encode()
        tensors[_VALUES] = torch.frombuffer(bytearray(values), dtype=torch.uint8)
        content = save(tensors)
        write_whole({self.path: _FIRST_LINE + _checksum_line(content) + content}, force=True)

    def save_if_possible(self, state: State) -> None:
        """Save, or warn if the disk is full, because a training must not end for that."""
        try:
            self.save(state)
        except FormatError as error:
            consequence = "the training goes on, but it cannot be resumed from this epoch"
            warnings.warn(f"{error}; {consequence}", stacklevel=2)

    def load(self) -> State:
        """Read the state that was saved last; refuse a damaged file, or one of another training."""
        try:
            tensors = load(self._content())
            values = json.loads(tensors.pop(_VALUES).numpy().tobytes())
        except (OSError, SafetensorError, KeyError, ValueError, RecursionError):
            raise self._damaged() from None
        if not isinstance(values, dict) or values.pop("identity", None) != self.identity:
            raise ModelError(
                f"{self.path}: the checkpoint belongs to another training, with another taxonomy, "
                "seed or other settings; use the same ones again, or remove the file"
            )
        return State(tensors, values)

    def restore(self, training: Resumable) -> None:
        """Continue a training from the state that was saved last."""
        state = self.load()
        try:
            training.restore(state)
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            raise self._damaged() from None

    def check(self) -> None:
        """Refuse a file that is damaged or of another training; there may be none."""
        if self.path.exists():
            self.load()

    def refuse_unused(self) -> None:
        """Refuse an existing file, because this training would neither use it nor replace it."""
        if self.path.exists():
            raise ModelError(
                f"{self.path}: the checkpoint belongs to another training, because this one "
                "fine-tunes no encoder; use the same settings again, or remove the file"
            )

    def of_tower(self) -> Checkpoint:
        """Return the checkpoint of the fine-tuning of the encoder in the same training."""
        return Checkpoint(tower_path(self.path), identity_of("tower", self.identity))

    def _content(self) -> bytes:
        """Return what the checksum of the file covers."""
        whole = read_regular(self.path)
        start = len(_FIRST_LINE) + len(_checksum_line(b""))
        content = whole[start:]
        if whole[:start] != _FIRST_LINE + _checksum_line(content):
            raise ValueError("the checksum is wrong")
        return content

    def _damaged(self) -> ModelError:
        return ModelError(
            f"{self.path}: not a readable checkpoint, or a damaged one, or one of another version "
            "of taxoexpan; remove the file to train from the beginning"
        )


def _checksum_line(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


def tower_path(path: Path) -> Path:
    """Return the file for the fine-tuning of the encoder, next to the file of the network."""
    return path.with_name(f"{path.name}.tower")


def add_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put the names of tensors into a group."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Select the tensors of a group by their prefix, and remove it from their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the moments of an optimizer, with names for a checkpoint."""
    return {
        f"optimizer.{index}.{name}": tensor
        for index, moments in optimizer.state_dict()["state"].items()
        for name, tensor in moments.items()
    }


def restore_optimizer(
    optimizer: Optimizer, tensors: Mapping[str, Tensor], groups: list[dict[str, Any]]
) -> None:
    """Restore an optimizer from the tensors of `optimizer_tensors` and its parameter groups."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in with_prefix("optimizer", tensors).items():
        index, _, moment = name.partition(".")
        moments.setdefault(int(index), {})[moment] = tensor
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def identity_of(*parts: object) -> str:
    """Return a digest of everything that a training depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
