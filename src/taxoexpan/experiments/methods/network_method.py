"""TaxoExpan as one of the compared methods, and the training that all networks share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from taxoexpan.config import load_preset
from taxoexpan.experiments.methods.method import Method, Problem
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.confidence import learn_leaf_bonus
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.loop import History, TrainingLog, Validate, train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.sampling import TrainingSampler


class NetworkMethod(Method):
    """Trains a network by self-supervision (Section 4.3), and stops early by validation queries.

    `preset` names the settings; keywords change single ones.
    """

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        self.config = load_preset(preset, **changes)

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History:
        """Train on the device of the vectors; equal seeds give the same network as `TaxoExpan.fit`.

        An interrupted training is an error, since an unfinished one cannot be compared.
        """
        c = self.config
        vectors = ConceptVectors.of(problem.vectors)
        network = self._network(vectors.dimension)
        network.reset(torch.Generator().manual_seed(seed))
        network.to(vectors.device)
        anchors = Anchors(problem.taxonomy, vectors, c.max_siblings)
        sampler = TrainingSampler(problem.taxonomy, c, seed, problem.mentions)
        validate = _validation(problem, anchors)
        gpus = [vectors.device] if vectors.device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpus):
            torch.manual_seed(seed)
            history = train(network, vectors, sampler, validate, c, report)
        if history.interrupted:
            raise KeyboardInterrupt
        self.network, self.leaf_bonus = network, 0.0
        self.set_anchors(problem.taxonomy, problem.vectors)
        if problem.as_it_grows:
            v = problem.validation
            self.leaf_bonus = learn_leaf_bonus(self.ranker, v.vectors, v.parents, v.mentions)
        return history

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Encode every concept of a taxonomy with the trained network, on the vectors' device."""
        self.network.to(vectors.device)
        known = ConceptVectors.of(vectors)
        anchors = Anchors(taxonomy, known, self.config.max_siblings)
        self.ranker = Ranker(self.network, anchors, anchors.encode(self.network))

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:
        """Return the raw score of every pair: [2, Q, D] → [N, Q]."""
        return self.ranker.scores(queries, mentions, self.leaf_bonus)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the model."""
        return self.config.model_dump()

    @abstractmethod
    def _network(self, dimension: int) -> MatchingNetwork:
        """Make an untrained network for vectors of this size."""


class TaxoExpanMethod(NetworkMethod):
    """The paper's model, or one of its variants with another preset or other settings."""

    name = "TaxoExpan"

    def _network(self, dimension: int) -> MatchingNetwork:
        return MatchingNetwork(self.config, dimension)


def _validation(problem: Problem, anchors: Anchors) -> Validate | None:
    """Return the function that scores the validation queries after an epoch, if there are any."""
    queries = problem.validation
    if not len(queries.parents):
        return None

    def validate(network: MatchingNetwork) -> Metrics:
        ranker = Ranker(network, anchors, anchors.encode(network))
        ranks = ranker.true_ranks(queries.vectors, queries.parents, 0.5, queries.mentions)
        return compute_metrics(ranks)

    return validate
