"""A continued training: its length, and the relations and negatives that it draws.

New relations are drawn more often than old ones, so that they are learned in few epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.config import Config
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Recipe:
    """The settings for continuing a training from the weights of an earlier one.

    The default was chosen on held-out concepts of a release; see docs/results/archive-1.0.0.md.

    Args:
        epochs: epochs of the network.
        tower_epochs: epochs of the fine-tuning.
        repeats: draws of each new relation per epoch.
        replay: draws of old relations per draw of a new one, to prevent forgetting.
    """

    epochs: int = 10
    tower_epochs: int = 4
    repeats: int = 3
    replay: float = 16.0

    def apply_to(self, config: Config) -> Config:
        """Return the settings of the continued training."""
        return config.model_copy(
            update={
                "epochs": self.epochs if config.epochs else 0,
                "patience": self.epochs,  # never stops early
                "tower_epochs": self.tower_epochs if config.tower_epochs else 0,
            }
        )


DEFAULT_RECIPE = Recipe()


@dataclass(frozen=True)
class ChangesSinceTraining:
    """The new concepts [N] and the rejected parents (N rows) since the model was trained."""

    is_new: NDArray[np.bool_]
    rejected: Adjacency
    recipe: Recipe

    def count(self, parents: Indices, children: Indices) -> int:
        """Return the number of relations that are drawn per epoch."""
        new = int(self._are_new(parents, children).sum())
        return new * self.recipe.repeats + self._count_replayed(len(parents) - new, new)

    def draw(self, parents: Indices, children: Indices, rng: np.random.Generator) -> Indices:
        """Draw the rows of the relations of one epoch, in random order."""
        are_new = self._are_new(parents, children)
        new = np.flatnonzero(are_new)
        old = np.flatnonzero(~are_new)
        replayed = rng.permutation(old)[: self._count_replayed(len(old), len(new))]
        return rng.permutation(np.concatenate([np.repeat(new, self.recipe.repeats), replayed]))

    def _are_new(self, parents: Indices, children: Indices) -> NDArray[np.bool_]:
        """Return which relations have a new parent or child."""
        are_new: NDArray[np.bool_] = self.is_new[parents] | self.is_new[children]
        return are_new

    def _count_replayed(self, old: int, new: int) -> int:
        """Return the number of old relations to draw, which is all if nothing is new."""
        if not new:
            return old
        return min(old, round(new * self.recipe.repeats * self.recipe.replay))
