"""The hidden states of texts after the frozen layers of a sentence model."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Self

from torch import Tensor

MAX_BYTES = 2**29
"""The states that are kept, at most: the states of some 40,000 texts of eight tokens."""


class KeptStates:
    """The states of texts [L, D], given by their tokens, in at most `MAX_BYTES`.

    They are in single precision, because vectors must not depend on which states are kept.
    """

    def __init__(self) -> None:
        self._states: dict[bytes, Tensor] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return the same states: a copy of a model has the same frozen layers."""
        return self

    def get(self, tokens: Sequence[int]) -> Tensor | None:
        """Return the state of a text [L, D], if it is kept."""
        return self._states.get(_key(tokens))

    def missing(self, tokens: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Return the texts without a state, each once, from the shortest to the longest."""
        distinct = {_key(each): each for each in tokens}
        return sorted((t for key, t in distinct.items() if key not in self._states), key=len)

    def add(self, tokens: Sequence[Sequence[int]], states: Tensor) -> bool:
        """Keep the states [B, L, D] of a block of texts, or return false if there is no room."""
        if self.bytes + states.nbytes > MAX_BYTES:
            return False
        self.bytes += states.nbytes
        for each, state in zip(tokens, states, strict=True):
            self._states[_key(each)] = state[: len(each)]
        return True


def _key(tokens: Sequence[int]) -> bytes:
    return array("i", tokens).tobytes()
