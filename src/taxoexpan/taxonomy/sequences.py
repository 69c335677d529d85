"""Read-only sequences and mappings whose items are decoded or built on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

BLOCK = 1 << 16
"""Texts whose offsets are read at a time while all of them are iterated over."""

Item = TypeVar("Item")
Value = TypeVar("Value")


class LazySequence(Sequence[Item]):
    """A sequence that stores no items: `get` builds one item, and `iterate` builds all."""

    def __init__(
        self, size: int, get: Callable[[int], Item], iterate: Callable[[], Iterator[Item]]
    ) -> None:
        self._size = size
        self._get = get
        self._iterate = iterate

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        chosen = range(self._size)[index]
        return self._get(chosen) if isinstance(chosen, int) else tuple(map(self._get, chosen))

    def __iter__(self) -> Iterator[Item]:
        return self._iterate()


class PackedTexts(LazySequence[str]):
    """A read-only sequence of strings, stored in UTF-8; string i starts at `offsets[i]`."""

    def __init__(self, text: NDArray[np.uint8], offsets: Indices) -> None:
        if not len(offsets) or offsets[-1] != len(text):
            raise ValueError("the offsets of the texts do not fit the texts")
        super().__init__(len(offsets) - 1, self._text, self._texts)
        self.text = text
        self.offsets = offsets

    @classmethod
    def pack(cls, texts: Iterable[str]) -> PackedTexts:
        """Encode strings one after the other."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def _text(self, row: int) -> str:
        return self._decode(self.text[self.offsets[row] : self.offsets[row + 1]])

    def _texts(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            first, *ends = self.offsets[start : start + BLOCK + 1].tolist()
            for end in ends:
                yield self._decode(self.text[first:end])
                first = end

    def __eq__(self, other: object) -> bool:
        """Return whether another sequence has the same strings."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it would have to decode all texts

    @staticmethod
    def _decode(encoded: NDArray[np.uint8]) -> str:
        return encoded.tobytes().decode("utf-8", "surrogatepass")


class LazyMapping(Mapping[int, Value]):
    """A mapping that stores no values: `get` builds the value of one of N concepts.

    A concept has a value if its offset is below the next one.
    """

    def __init__(self, offsets: Indices, get: Callable[[int], Value]) -> None:
        self._offsets = offsets
        self._get = get

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int | np.integer) or not 0 <= index < len(self._offsets) - 1:
            return False
        return bool(self._offsets[index] < self._offsets[index + 1])

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(np.diff(self._offsets)).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self._offsets)))

    def __getitem__(self, index: int) -> Value:
        if index not in self:
            raise KeyError(index)
        return self._get(index)
