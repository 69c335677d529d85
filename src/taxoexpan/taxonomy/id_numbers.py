"""Numbers in ids: which one comes next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from taxoexpan.errors import TaxonomyError

MAX_OUTLIERS = 0.01
"""The fraction of the ids that may be outliers, at most."""


def next_number(numbers: Iterable[int], default: int = 1) -> int:
    """Return the number after the last one; a few numbers far above all others do not count.

    With 1 to 500 and 9999999, the next number is 501.
    """
    ordered = sorted(set(numbers))
    if not ordered:
        return default
    outliers = max(1, int(len(ordered) * MAX_OUTLIERS)) if len(ordered) > 2 else 0
    for last in range(len(ordered) - 1, len(ordered) - 1 - outliers, -1):
        gap, span = ordered[last] - ordered[last - 1], ordered[last - 1] - ordered[0] + 1
        if gap > max(span, 10):
            return ordered[last - 1] + 1
    return ordered[-1] + 1


def numbers_from(first: int, last: int | None, purpose: str) -> Iterator[int]:
    """Yield the numbers of a range in order; raise an error when they run out."""
    for number in count(first):
        if last is not None and number > last:
            message = f"no number from {first} to {last} is free for {purpose}"
            raise TaxonomyError(f"{message}; give a larger range of ids")
        yield number
