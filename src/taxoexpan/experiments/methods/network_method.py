"""TaxoExpan itself among the compared methods, and how all of them that have a network learn."""

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
from taxoexpan.training.history import History
from taxoexpan.training.loop import Validate, train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.training_log import TrainingLog


class NetworkMethod(Method):
    """Trains a network by self-supervision (Section 4.3), stopping early on the validation queries.

    `preset` names the settings, and single ones can be changed by keyword.
    """

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        self.config = load_preset(preset, **changes)

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History:
        """Train where the vectors are; the same seed gives what `TaxoExpan.fit` gives by it.

        A training that the user stops is stopped for good, since half of one compares with nothing.
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
        self.network, self.gain = network, 0.0
        self.set_anchors(problem.taxonomy, problem.vectors)
        if problem.as_it_grows:
            asked = problem.validation
            self.gain = learn_leaf_bonus(self.ranker, asked.vectors, asked.parents, asked.mentions)
        return history

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Encode every concept of this taxonomy by the trained network, where the vectors are."""
        self.network.to(vectors.device)
        known = ConceptVectors.of(vectors)
        anchors = Anchors(taxonomy, known, self.config.max_siblings)
        self.ranker = Ranker(self.network, anchors, anchors.encode(self.network))

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:
        """The raw score of every pair: [2, Q, D] → [N, Q]."""
        return self.ranker.scores(queries, mentions, self.gain)

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is learned, besides the problem and the seed."""
        return self.config.model_dump()

    @abstractmethod
    def _network(self, dimension: int) -> MatchingNetwork:
        """A network for vectors of this size."""


class TaxoExpanMethod(NetworkMethod):
    """The paper's own model, or with another preset or other settings one of its variants."""

    name = "TaxoExpan"

    def _network(self, dimension: int) -> MatchingNetwork:
        return MatchingNetwork(self.config, dimension)


def _validation(problem: Problem, anchors: Anchors) -> Validate | None:
    """What the validation queries come to after an epoch, if there are any."""
    queries = problem.validation
    if not len(queries.parents):
        return None

    def validate(network: MatchingNetwork) -> Metrics:
        ranker = Ranker(network, anchors, anchors.encode(network))
        ranks = ranker.true_ranks(queries.vectors, queries.parents, 0.5, queries.mentions)
        return compute_metrics(ranks)

    return validate
