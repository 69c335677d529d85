"""dist-XGBoost (Section 5.1.3): boosted trees over the distances of a query to an egonet."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from reproduction.baselines.distance_features import FEATURES, EgonetDistances, Pairs
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.evaluation.methods import Problem, TrainedMethod
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.record import Epoch, History

if TYPE_CHECKING:
    from xgboost import DMatrix


@dataclass(frozen=True)
class Instances:
    """Query vectors [Q, D], pairs of queries and anchors, and labels [P], 1 for positives."""

    queries: Tensor
    pairs: Pairs
    labels: Indices


@dataclass(eq=False)
class DistXGBoost(TrainedMethod):
    """Boosted trees that score a pair by its 39 distances.

    Every relation is a positive, with `negatives` drawn for its query. Boosting stops early if the
    validation loss has not improved for `patience` rounds; the paper gives no number of rounds.
    """

    negatives: int = 30
    depth: int = 4
    learning_rate: float = 0.1
    rounds: int = 500
    patience: int = 20

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the training."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History:
        """Train with one round per epoch; the seed affects only the drawn negatives."""
        refuse_without_xgboost()
        from xgboost import DMatrix, QuantileDMatrix

        rng, taxonomy, vectors = np.random.default_rng(seed), problem.taxonomy, problem.vectors[0]
        self.set_anchors(taxonomy, problem.vectors)
        training = _from_relations(taxonomy, vectors, self.negatives, rng)
        # A QuantileDMatrix stores only the bin of each feature, which is all that `hist` needs.
        training_data = QuantileDMatrix(self._table(training, log), training.labels)
        validation_data: DMatrix = training_data
        if len(problem.validation.parents):
            held_out = _from_queries(problem.validation, len(taxonomy), self.negatives, rng)
            validation_data = DMatrix(self._table(held_out, log), held_out.labels)
        if log.progress:
            pairs = pluralize(len(training.labels), "pair")
            write_line(f"dist-XGBoost: boosting on {pairs}, up to {self.rounds:,} rounds")
        return self._boost(training_data, validation_data, log)

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Prepare the distances to the egonets of a taxonomy."""
        self._distances = EgonetDistances(taxonomy, vectors[0])

    def score(self, queries: Queries) -> Tensor:
        """Return the margin (the logit of a match) of every pair: [N, Q]."""
        scores = np.empty((len(queries), self._distances.size), dtype=np.float32)
        flat, done = scores.reshape(-1), 0
        for features in self._distances.of_all(queries.vectors[0]):
            margins = self._booster.inplace_predict(features, predict_type="margin")
            flat[done : done + len(margins)] = margins
            done += len(margins)
        return torch.from_numpy(scores).T.to(queries.vectors.device)

    def _table(self, instances: Instances, log: TrainingLog) -> Floats:
        """Return the features of all instances: [P, 39]."""
        table = np.empty((len(instances.labels), FEATURES), dtype=np.float32)
        done = 0
        with Progress("distances", len(table), "pairs", shown=log.progress) as bar:
            for features in self._distances.of_pairs(instances.queries, instances.pairs):
                table[done : done + len(features)] = features
                done += len(features)
                bar.update(len(features))
        return table

    def _boost(self, training_data: DMatrix, validation_data: DMatrix, log: TrainingLog) -> History:
        """Add one tree per round, and keep the trees up to the best round."""
        from xgboost import Booster

        parameters = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": self.depth,
            "learning_rate": self.learning_rate,
        }
        booster, history = Booster(parameters, [training_data, validation_data]), History()
        lowest = float("inf")
        while len(history.epochs) < min(self.rounds, history.best + self.patience):
            began, number = time.monotonic(), len(history.epochs) + 1
            booster.update(training_data, number - 1)
            loss = float(booster.eval(validation_data).rpartition(":")[2])
            seconds = round(time.monotonic() - began, 3)
            history.epochs.append(Epoch(number, loss, self.learning_rate, None, seconds))
            if loss < lowest:
                history.best, lowest = number, loss
            log.write(history.epochs[-1], history.best == number)
        self._booster = booster[: history.best]
        return history


def refuse_without_xgboost() -> None:
    """Refuse to train without xgboost, before any work."""
    try:
        import xgboost  # noqa: F401
    except ImportError as error:
        message = f"dist-XGBoost needs xgboost, which cannot be imported ({error})"
        raise ConfigurationError(message, fix="pip install xgboost-cpu") from None


def _from_relations(
    taxonomy: Taxonomy, vectors: Tensor, negatives: int, rng: np.random.Generator
) -> Instances:
    """Make every relation a positive; the query, its parents and descendants are not negatives."""
    parents, children = taxonomy.relation_indices
    if not len(parents):
        raise ModelError("the taxonomy has no relations to learn from", fix="give one that has")
    own, rows = np.unique(children, return_inverse=True)
    below, descendants = taxonomy.descendant_intervals.pairs(own)
    excluded = np.concatenate([rows, below]), np.concatenate([parents, descendants])
    drawn = _draw(excluded, np.repeat(rows, negatives), (len(own), len(taxonomy)), rng)
    return _instances(vectors[torch.from_numpy(own)], Pairs(rows, parents, children), drawn)


def _from_queries(
    queries: LabeledQueries, size: int, negatives: int, rng: np.random.Generator
) -> Instances:
    """Make every true parent of new queries a positive; all other anchors may be negatives."""
    count = len(queries.parents)
    rows = np.repeat(np.arange(count), [len(parents) for parents in queries.parents])
    parents = np.concatenate(queries.parents)
    drawn = _draw((rows, parents), np.repeat(rows, negatives), (count, size), rng)
    return _instances(queries.vectors[0], Pairs(rows, parents, np.full(len(rows), -1)), drawn)


def _instances(queries: Tensor, positives: Pairs, negatives: Pairs) -> Instances:
    """Join positives and negatives, ordered by query."""
    columns = zip(vars(positives).values(), vars(negatives).values(), strict=True)
    rows, anchors, left_out = (np.concatenate(both) for both in columns)
    order = np.argsort(rows, kind="stable")
    labels = (order < len(positives.rows)).astype(np.int64)
    return Instances(queries, Pairs(rows[order], anchors[order], left_out[order]), labels)


def _draw(
    excluded: tuple[Indices, Indices],
    rows: Indices,
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> Pairs:
    """Draw one anchor for each row (a query's index), uniformly from the allowed anchors, if any.

    `excluded` are pairs (row, anchor), and `shape` is the number of queries and anchors. A drawn
    number counts only allowed anchors, and is then raised by the number of excluded anchors below
    the result.
    """
    count, size = shape
    keys = np.unique(excluded[0] * size + excluded[1])
    owners, anchors = keys // size, keys % size
    starts = np.searchsorted(owners, np.arange(count))
    free = size - np.bincount(owners, minlength=count)
    rows = rows[free[rows] > 0]
    numbers = rng.integers(0, free[rows])
    before = np.arange(len(owners)) - starts[owners]
    steps = owners * (size + 1) + anchors - before
    passed = np.searchsorted(steps, rows * (size + 1) + numbers, side="right")
    return Pairs(rows, numbers + passed - starts[rows], np.full(len(rows), -1))
