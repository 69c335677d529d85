"""Where a training stands between two epochs, kept in one file so that it can go on from there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.files import write_whole

_FACTS = "taxoexpan-checkpoint"


@dataclass(frozen=True)
class State:
    """Everything that the epochs to come depend on."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A file for the state of one training, which `identity` tells from every other."""

    path: Path
    identity: str

    def save(self, state: State) -> None:
        """Write the state, whole or not at all, over the one before."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in state.tensors.items()}
        facts = json.dumps({**state.facts, "identity": self.identity})
        write_whole({self.path: save(tensors, {_FACTS: facts})}, force=True)

    def load(self) -> State:
        """The state that was written last."""
        try:
            with safe_open(self.path, framework="pt") as file:
                facts = json.loads((file.metadata() or {})[_FACTS])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            message = f"{self.path}: not a checkpoint that can be read ({error}); remove it"
            raise ModelError(message) from None
        if facts.pop("identity", None) != self.identity:
            raise ModelError(
                f"{self.path}: the checkpoint is of another training, with another taxonomy, seed "
                "or settings; give the same again, or remove it"
            )
        return State(tensors, facts)


def identity_of(*parts: object) -> str:
    """A digest of what a training depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
