"""dist-XGBoost (Section 5.1.3): boosted trees over the distances of a query to an egonet."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.experiments.methods.distance_features import FEATURES, EgonetDistances, Floats, Pairs
from taxoexpan.experiments.methods.method import Method, Problem, Queries
from taxoexpan.features.mentions import Mentions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.history import Epoch, History
from taxoexpan.training.training_log import TrainingLog

if TYPE_CHECKING:
    from xgboost import Booster, DMatrix


@dataclass(frozen=True)
class Instances:
    """Pairs of queries with vectors [Q, D], and which of them are positives: labels [P], 1 or 0."""

    queries: Tensor
    pairs: Pairs
    labels: Indices


class DistXGBoost(Method):
    """Scores a pair by trees of a `depth` over its 39 distances, one tree a round.

    Every relation is a positive, each with `negatives` of its query. The paper does not say how
    many rounds there are: here boosting stops when the pairs of the validation queries have not
    become likelier for `patience` rounds, after `rounds` at the latest, and the best are kept.

    A query is never among the children of its parent, so that a positive can be told by a child
    that is missing from a group that is whole in every negative. With `thinned`, which is not in
    the paper, a negative's anchor is without one of its children too, so that this tells nothing.
    """

    name = "dist-XGBoost"

    def __init__(
        self,
        negatives: int = 30,
        depth: int = 4,
        learning_rate: float = 0.1,
        rounds: int = 500,
        patience: int = 20,
        thinned: bool = False,
    ) -> None:
        counts = {"negatives": negatives, "depth": depth, "rounds": rounds, "patience": patience}
        for setting, value in counts.items():
            if value < 1:
                raise ConfigurationError(f"{setting} is {value!r}; it must be at least 1")
        self.negatives, self.depth, self.learning_rate = negatives, depth, learning_rate
        self.rounds, self.patience, self.thinned = rounds, patience, thinned
        self._booster: Booster | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """How many negatives and trees there are, and how these grow."""
        names = ("negatives", "depth", "learning_rate", "rounds", "patience", "thinned")
        return {name: getattr(self, name) for name in names}

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History:
        """Boost; a round is an epoch, and its loss that of the validation pairs, if there are any.

        The seed draws the negatives, and nothing else is left to chance.
        """
        refuse_without_xgboost()
        from xgboost import DMatrix, QuantileDMatrix

        dice, taxonomy, vectors = np.random.default_rng(seed), problem.taxonomy, problem.vectors[0]
        self.set_anchors(taxonomy, problem.vectors)
        training = _from_relations(taxonomy, vectors, self.negatives, self.thinned, dice)
        # Of each feature only the bin is kept, which is all that the histograms ask for.
        seen = QuantileDMatrix(self._table(training, report), training.labels)
        watched: DMatrix = seen
        if len(problem.validation.parents):
            held_out = _from_queries(problem.validation, len(taxonomy), self.negatives, dice)
            watched = DMatrix(self._table(held_out, report), held_out.labels)
        return self._boost(seen, watched, report)

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Keep what makes the distances to the egonets of this taxonomy."""
        self._distances = EgonetDistances(taxonomy, vectors[0])

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:  # noqa: ARG002
        """The margin of every pair, which is the logit of a match: [2, Q, D] → [N, Q]."""
        if self._booster is None:
            raise ModelError(f"{self.name} has learned nothing yet; call fit first")
        scores = np.empty((queries.shape[1], self._distances.size), dtype=np.float32)
        flat, done = scores.reshape(-1), 0
        for features in self._distances.of_all(queries[0]):
            margins = self._booster.inplace_predict(features, predict_type="margin")
            flat[done : done + len(margins)] = margins
            done += len(margins)
        return torch.from_numpy(scores).T.to(queries.device)

    def _table(self, instances: Instances, report: TrainingLog) -> Floats:
        """The features of all instances: [P, 39]."""
        table = np.empty((len(instances.labels), FEATURES), dtype=np.float32)
        done, hidden = 0, None if report.progress else True
        with tqdm(total=len(table), desc="distances", unit="pair", disable=hidden) as bar:
            for features in self._distances.of_pairs(instances.queries, instances.pairs):
                table[done : done + len(features)] = features
                done += len(features)
                bar.update(len(features))
        return table

    def _boost(self, seen: DMatrix, watched: DMatrix, report: TrainingLog) -> History:
        """Add a tree a round, and keep those up to the best round."""
        from xgboost import Booster

        parameters = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": self.depth,
            "learning_rate": self.learning_rate,
        }
        booster, history = Booster(parameters, [seen, watched]), History()
        lowest = float("inf")
        while len(history.epochs) < min(self.rounds, history.best + self.patience):
            began, number = time.monotonic(), len(history.epochs) + 1
            booster.update(seen, number - 1)
            loss = float(booster.eval(watched).rpartition(":")[2])
            seconds = round(time.monotonic() - began, 3)
            history.epochs.append(Epoch(number, loss, self.learning_rate, None, seconds))
            if loss < lowest:
                history.best, lowest = number, loss
            report.write(history.epochs[-1], history.best == number)
        self._booster = booster[: history.best]
        return history


def refuse_without_xgboost() -> None:
    """Refuse, before any work is done, to boost without xgboost."""
    try:
        import xgboost  # noqa: F401
    except ImportError as error:
        message = f"xgboost, which dist-XGBoost learns with, cannot be used here ({error})"
        raise ConfigurationError(f"{message}; pip install taxoexpan[boost]") from None


def _from_relations(
    taxonomy: Taxonomy, vectors: Tensor, negatives: int, thinned: bool, dice: np.random.Generator
) -> Instances:
    """Every relation as a positive; no negatives are a query's parents, its descendants, itself."""
    parents, children = taxonomy.relation_indices
    if not len(parents):
        raise ModelError("nothing to learn from: a taxonomy without relations; give one with some")
    own, places = np.unique(children, return_inverse=True)
    below, descendants = taxonomy.children_of.reach_of_many(own)
    refused = _ascending(
        np.concatenate([places, below, np.arange(len(own))]),
        np.concatenate([parents, descendants, own]),
        (len(own), len(taxonomy)),
    )
    drawn = _draw(refused, np.repeat(places, negatives), len(taxonomy), dice)
    if thinned:
        drawn = replace(drawn, left_out=_draw_children(taxonomy, drawn.anchors, dice))
    positives = Pairs(places, parents, children)
    return _instances(vectors[torch.from_numpy(own)], positives, drawn)


def _from_queries(
    queries: Queries, size: int, negatives: int, dice: np.random.Generator
) -> Instances:
    """Every true parent of new queries as a positive; all other anchors may be negatives."""
    count = len(queries.parents)
    places = np.repeat(np.arange(count), [len(parents) for parents in queries.parents])
    parents = np.concatenate(queries.parents)
    refused = _ascending(places, parents, (count, size))
    drawn = _draw(refused, np.repeat(places, negatives), size, dice)
    return _instances(queries.vectors[0], Pairs(places, parents, np.full(len(places), -1)), drawn)


def _instances(queries: Tensor, positives: Pairs, negatives: Pairs) -> Instances:
    """Both sorts of pairs together, ordered by query."""
    order = np.argsort(np.concatenate([positives.places, negatives.places]), kind="stable")
    pairs = Pairs(
        np.concatenate([positives.places, negatives.places])[order],
        np.concatenate([positives.anchors, negatives.anchors])[order],
        np.concatenate([positives.left_out, negatives.left_out])[order],
    )
    return Instances(queries, pairs, (order < len(positives.places)).astype(np.int64))


def _ascending(places: Indices, concepts: Indices, shape: tuple[int, int]) -> Adjacency:
    """The concepts at each place, each once and ascending, given how many of both there are."""
    rows, size = shape
    keys = np.unique(places * size + concepts)
    return Adjacency.from_pairs(keys // size, keys % size, rows)


def _draw(refused: Adjacency, places: Indices, size: int, dice: np.random.Generator) -> Pairs:
    """An anchor for each place, uniformly from what is not refused there; none where all is.

    What is drawn is the number u of an anchor among those that are not refused. A refused one r
    moves it up by one where r less the number of those refused before r is not above u.
    """
    free = size - refused.degrees
    places = places[free[places] > 0]
    numbers = dice.integers(0, free[places])
    rows = np.repeat(np.arange(len(refused)), refused.degrees)
    before = np.arange(len(rows)) - refused.offsets[rows]
    steps = rows * (size + 1) + refused.targets - before
    passed = np.searchsorted(steps, places * (size + 1) + numbers, side="right")
    anchors = numbers + passed - refused.offsets[places]
    return Pairs(places, anchors, np.full(len(places), -1))


def _draw_children(taxonomy: Taxonomy, anchors: Indices, dice: np.random.Generator) -> Indices:
    """One child of each anchor, or -1 where it has none."""
    offsets, degrees = taxonomy.children_of.offsets, taxonomy.children_of.degrees
    children = np.full(len(anchors), -1)
    inner = np.flatnonzero(degrees[anchors])
    chosen = offsets[anchors[inner]] + dice.integers(0, degrees[anchors[inner]])
    children[inner] = taxonomy.children_of.targets[chosen]
    return children
