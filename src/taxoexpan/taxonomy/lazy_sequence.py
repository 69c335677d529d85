"""A read-only sequence whose items are built on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

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

    def __repr__(self) -> str:
        return f"LazySequence of {self._size:,} items"
