"""Continuing the training of a model: what is drawn more often, and how long and fast it learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.config import Config
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Recipe:
    """How a training continues from the weights of an earlier one.

    Args:
        epochs: epochs of the network.
        learning_rate: its learning rate, as a fraction of the first training's.
        tower_epochs: epochs of the fine-tuning.
        tower_learning_rate: its learning rate, as a fraction of the first training's.
        repeats: how often a new relation is drawn per epoch.
        replay: how many old relations are drawn per draw of a new one, so that nothing is
            forgotten.
        keep_best: whether the epoch that ranks the held-out concepts best is kept, and not the
            last one.
        weight: how much a concept that was added since counts in the fusion, compared with a
            held-out one; 0 leaves the added ones out.
    """

    epochs: int = 10
    learning_rate: float = 1.0
    tower_epochs: int = 4
    tower_learning_rate: float = 1.0
    repeats: int = 3
    replay: float = 16.0
    keep_best: bool = True
    weight: float = 1.0

    def changed(self, config: Config) -> Config:
        """Return the settings of the continued training."""
        return config.model_copy(
            update={
                "epochs": self.epochs,
                "patience": self.epochs,
                "learning_rate": config.learning_rate * self.learning_rate,
                "tower_epochs": self.tower_epochs if config.tower_epochs else 0,
                "tower_learning_rate": config.tower_learning_rate * self.tower_learning_rate,
            }
        )


DEFAULT_RECIPE = Recipe()


@dataclass(frozen=True)
class News:
    """What is new in a taxonomy of N concepts since the model was trained.

    Args:
        is_new: whether each concept was added since [N].
        rejected: the anchors that were rejected as parents of each concept: N rows.
        recipe: how often new and old relations are drawn.
    """

    is_new: NDArray[np.bool_]
    rejected: Adjacency
    recipe: Recipe

    def count(self, parents: Indices, children: Indices) -> int:
        """Return the number of relations that are drawn per epoch."""
        new = int(self._are_new(parents, children).sum())
        return new * self.recipe.repeats + self._replayed(len(parents) - new, new)

    def draw(self, parents: Indices, children: Indices, rng: np.random.Generator) -> Indices:
        """Draw the rows of the relations of one epoch, in random order."""
        are_new = self._are_new(parents, children)
        new, old = np.flatnonzero(are_new), np.flatnonzero(~are_new)
        replayed = rng.permutation(old)[: self._replayed(len(old), len(new))]
        return rng.permutation(np.concatenate([np.repeat(new, self.recipe.repeats), replayed]))

    def _are_new(self, parents: Indices, children: Indices) -> NDArray[np.bool_]:
        are_new: NDArray[np.bool_] = self.is_new[parents] | self.is_new[children]
        return are_new

    def _replayed(self, old: int, new: int) -> int:
        """Return how many of the old relations are drawn: all, if nothing is new."""
        if not new:
            return old
        return min(old, round(new * self.recipe.repeats * self.recipe.replay))
