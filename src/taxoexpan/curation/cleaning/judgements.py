"""What models think of relations, in columns, and which of them they doubt the most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judgements:
    """What models think of relations, a row each; concepts are places in the whole taxonomy.

    `ranks` are those of the parents among all anchors, the concept's other parents left out;
    `others` the best anchors that are not above the concept now. Shares are logarithms, since the
    smallest of them are what matters. Confidences are the probabilities that a model gives to the
    parents, and to the others, and NaN where it could not learn how sure to be.
    """

    concepts: Indices
    parents: Indices
    ranks: Indices
    shares: Floats
    others: Indices
    other_shares: Floats
    confidences: Floats
    other_confidences: Floats

    @property
    def suspicions(self) -> Floats:
        """How much more a model believes in another place than in the parent: a log-ratio."""
        return self.other_shares - self.shares

    @property
    def order(self) -> Indices:
        """The rows from the most doubtful on; those alike in the order of the taxonomy."""
        return np.lexsort((self.parents, self.concepts, -self.suspicions))

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def where(self, wanted: NDArray[np.bool_]) -> Judgements:
        """Only some of the rows."""
        return Judgements(**{name: column[wanted] for name, column in self.columns().items()})

    @classmethod
    def together(cls, parts: Sequence[Judgements]) -> Judgements:
        """The rows of all parts, one after another."""
        columns = [part.columns() for part in parts]
        return cls(
            **{name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
        )
