"""The maximum of groups of rows, such as the nearest of an anchor's children."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices

WIDTHS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
"""The sizes of the runs that groups are split into; a shorter run repeats its last row."""
MAX_CELLS = {"cpu": 1 << 18, "cuda": 1 << 26}
"""Numbers that are copied at a time: few enough for the cache of a CPU."""


class GroupedMaximum:
    """Computes the maximum of each of G groups of rows, none of them empty: [n, B] → [G, B].

    Runs of equal length are reduced together. A group with more rows than the widest run has is
    split, and the maxima of its runs are reduced again. So a large group costs no more per row than
    a small one.

    Args:
        members: the rows of all groups, one group after the other.
        offsets: where each group starts in `members`, and the end of the last one [G + 1].
        device: where the rows are.
    """

    def __init__(self, members: Indices, offsets: Indices, device: torch.device) -> None:
        widest = int(WIDTHS[-1])
        pieces = -(-np.diff(offsets) // widest)
        group = np.repeat(np.arange(len(pieces)), pieces)
        starts = offsets[:-1][group] + widest * ranges(np.zeros_like(pieces), pieces)
        lengths = np.minimum(offsets[1:][group] - starts, widest)
        kind = np.searchsorted(WIDTHS, lengths)
        order = np.argsort(kind, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._tables: list[Tensor] = []
        for number, width in enumerate(WIDTHS.tolist()):
            runs = np.flatnonzero(kind == number)
            steps = np.minimum(np.arange(width), lengths[runs, None] - 1)
            table = torch.from_numpy(members[starts[runs, None] + steps])
            self._tables.append(table.to(device))
        self._runs, self._place = len(group), torch.from_numpy(place).to(device)
        self._rest: GroupedMaximum | None = None
        if len(group) > len(pieces):
            self._rest = GroupedMaximum(place, np.append(0, np.cumsum(pieces)), device)

    def __call__(self, values: Tensor) -> Tensor:
        """Return the maximum of each group in each column."""
        size = values.shape[1]
        maxima, first = values.new_empty(self._runs, size), 0
        for table in self._tables:
            width = table.shape[1]
            cells = MAX_CELLS.get(values.device.type, MAX_CELLS["cpu"])
            for part in table.split(max(1, cells // max(width * size, 1))):
                result = maxima[first : first + len(part)]
                first += len(part)
                if width == 1:
                    torch.index_select(values, 0, part[:, 0], out=result)
                    continue
                rows = values.index_select(0, part.reshape(-1)).view(-1, width, size)
                torch.amax(rows, 1, out=result)
        if self._rest is not None:
            return self._rest(maxima)
        return maxima.index_select(0, self._place)
