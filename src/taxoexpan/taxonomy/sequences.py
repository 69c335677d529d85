"""Read-only sequences and mappings whose items are decoded or built on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

BLOCK = 1 << 16
"""Texts whose offsets are read at a time while all of them are iterated over."""

Value = TypeVar("Value")
Scalar = TypeVar("Scalar", bound=np.generic)


class PackedTexts(Sequence[str]):
    """A read-only sequence of strings, stored in UTF-8; string i starts at `offsets[i]`."""

    def __init__(self, text: NDArray[np.uint8], offsets: Indices) -> None:
        if not len(offsets) or offsets[-1] != len(text):
            raise ValueError("the offsets of the texts do not fit the texts")
        self.text, self.offsets = _frozen(text), _frozen(offsets)

    @classmethod
    def pack(cls, texts: Iterable[str]) -> PackedTexts:
        """Encode texts one after the other."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(len(self))[index])
        row = range(len(self))[index]
        return self._decode(self.text[self.offsets[row] : self.offsets[row + 1]])

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            first, *ends = self.offsets[start : start + BLOCK + 1].tolist()
            for end in ends:
                yield self._decode(self.text[first:end])
                first = end

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same texts."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it would have to decode all texts

    @staticmethod
    def _decode(encoded: NDArray[np.uint8]) -> str:
        return encoded.tobytes().decode("utf-8", "surrogatepass")


class _PackedMapping(Mapping[int, Value]):
    """A read-only mapping from the indices of N concepts; those without a value are left out."""

    def __init__(self, offsets: Indices) -> None:
        self.offsets = _frozen(offsets)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int | np.integer) or not 0 <= index < len(self.offsets) - 1:
            return False
        return bool(self.offsets[index] < self.offsets[index + 1])

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(np.diff(self.offsets)).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self.offsets)))


class PackedTextMapping(_PackedMapping[str]):
    """The texts of some of N concepts by index, such as definitions; an empty text is missing."""

    def __init__(self, texts: PackedTexts) -> None:
        super().__init__(texts.offsets)
        self.texts = texts

    @classmethod
    def pack(cls, texts: Mapping[int, str], size: int) -> PackedTextMapping:
        """Encode the texts of some of `size` concepts."""
        return cls(PackedTexts.pack(texts.get(index, "") for index in range(size)))

    def __getitem__(self, index: int) -> str:
        if index not in self:
            raise KeyError(index)
        return self.texts[index]


class PackedNameMapping(_PackedMapping[tuple[str, ...]]):
    """The names of some of N concepts by index; the names of concept i start at `offsets[i]`."""

    def __init__(self, names: PackedTexts, offsets: Indices) -> None:
        if not len(offsets) or offsets[-1] != len(names):
            raise ValueError("the offsets of the names do not fit the names")
        super().__init__(offsets)
        self.names = names

    @classmethod
    def pack(cls, names: Mapping[int, Sequence[str]], size: int) -> PackedNameMapping:
        """Encode the names of some of `size` concepts."""
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum([len(names.get(index, ())) for index in range(size)], out=offsets[1:])
        return cls(PackedTexts.pack(n for i in range(size) for n in names.get(i, ())), offsets)

    def __getitem__(self, index: int) -> tuple[str, ...]:
        if index not in self:
            raise KeyError(index)
        return self.names[int(self.offsets[index]) : int(self.offsets[index + 1])]


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.setflags(write=False)
    return view


Item = TypeVar("Item")


class LazySequence(Sequence[Item]):
    """A sequence that stores no items: `get` builds one, `iterate` builds all of them."""

    def __init__(
        self, size: int, get: Callable[[int], Item], iterate: Callable[[], Iterator[Item]]
    ) -> None:
        self._size, self._get, self._iterate = size, get, iterate

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
