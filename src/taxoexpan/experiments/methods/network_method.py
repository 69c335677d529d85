"""The network of TaxoExpan alone as a compared method, and the training that all networks share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor

from taxoexpan.config import load_preset
from taxoexpan.experiments.methods.method import Method, Problem
from taxoexpan.features.lexicon import resolve_mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.fitting.network_training import TrainingData, train_network
from taxoexpan.placement.scoring.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.history import History
from taxoexpan.training.training_log import TrainingLog


class NetworkMethod(Method):
    """Trains a network by self-supervision (Section 4.3), and stops early by validation queries.

    `preset` names the settings; keywords change single ones.
    """

    ranker: Ranker

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        self.config = self._requested = load_preset(preset, **changes)

    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History:
        """Train on the device of the vectors; equal seeds give the same network as `TaxoExpan.fit`.

        An interrupted training is an error, since an unfinished one cannot be compared.
        """
        self.config = resolve_mentions(self._requested, problem.taxonomy)
        vectors = ConceptVectors.of(problem.vectors)
        anchors = Anchors(problem.taxonomy, vectors, self.config.max_siblings)
        data = TrainingData(anchors, problem.validation, problem.mentions)
        network = self._network(vectors.dimension)
        history = train_network(network, data, self.config, seed, log)
        if history.interrupted:
            raise KeyboardInterrupt
        self.network = network
        self.set_anchors(problem.taxonomy, problem.vectors)
        return history

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Encode every concept of a taxonomy with the trained network, on the vectors' device."""
        self.network.to(vectors.device)
        anchors = Anchors(taxonomy, ConceptVectors.of(vectors), self.config.max_siblings)
        self.ranker = Ranker(self.network, anchors)

    def score(self, queries: Queries) -> Tensor:
        """Return the raw score of every pair: [N, Q]."""
        return self.ranker.scores(queries)

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
