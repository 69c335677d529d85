"""Checkpoints: the state of a training after an epoch, in a safetensors file with a checksum."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from taxoexpan.errors import FormatError, ModelError
from taxoexpan.files import write_whole
from taxoexpan.files.inputs import read_regular

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
                f"{self.path}: not a readable checkpoint, or a damaged one, or one of another "
                "version of taxoexpan; remove the file to train from the beginning"
            ) from None
        if values.pop("identity", None) != self.identity:
            raise ModelError(
                f"{self.path}: the checkpoint belongs to another training, with another taxonomy, "
                "seed or other settings; use the same ones again, or remove the file"
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
                f"{self.path}: the checkpoint belongs to another training, because this one "
                "fine-tunes no encoder; use the same settings again, or remove the file"
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
