"""Numbers in ids: which one comes next, and how many digits it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NUMBER = r"(?<!\d)\d{1,100}"
"""A number in an id; more digits are no count, and Python refuses to convert thousands of them."""
MAX_OUTLIERS = 0.1
"""The fraction of the ids that may be outliers, at most."""


def next_number(numbers: Iterable[int], default: int = 1) -> int:
    """Return the number after the last one; a few numbers far above all others do not count.

    With 1 to 500 and 9999999, the next number is 501. A tenth of the ids may be in such
    ranges, because some ontologies reserve one for each editor or project.
    """
    ordered = sorted(set(numbers))
    if not ordered:
        return default
    outliers = max(1, int(len(ordered) * MAX_OUTLIERS)) if len(ordered) > 2 else 0
    for first in range(len(ordered) - outliers, len(ordered)):
        last, span = ordered[first - 1], ordered[first - 1] - ordered[0] + 1
        if ordered[first] - last > max(span, 10):
            return last + 1
    return ordered[-1] + 1


def next_and_width(numbers: Sequence[str]) -> tuple[int, int]:
    """Return the next number, and the width of the last one before it: 099 is followed by 100."""
    following = next_number(map(int, numbers))
    last = max((n for n in numbers if int(n) < following), key=int)
    return following, len(last)
