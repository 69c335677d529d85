"""The networks that are trained alone: the paper's, and its baselines ParentMLP and DeepSetMLP.

The paper gives no sizes; the default is 500, the size of an anchor's embedding in TaxoExpan.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config, load_preset
from taxoexpan.evaluation.methods import Problem, TrainedMethod
from taxoexpan.features.mentions import resolve_mentions
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.egonets import Egonets, LeftOutSiblings, Position
from taxoexpan.network.matching import ReluMLPMatch
from taxoexpan.network.matching_network import LOSSES, MatchingNetwork
from taxoexpan.network.propagation import Layer
from taxoexpan.placement.fitting.preparation import TrainingData
from taxoexpan.placement.fitting.session import train_network
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.record import History

HIDDEN_DIM = 500


class ParentMatch(ReluMLPMatch):
    """The MLP without a graph layer, on the anchors' part of the hidden layer."""

    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Return the keys unchanged: [A, H]."""
        del matrix
        return means


class ParentNetwork(MatchingNetwork):
    r"""An MLP with one hidden layer, :math:`w_2 \cdot \mathrm{ReLU}(W_1 [a \| n] + b_1) + b_2`.

    The position a is the anchor's vector, concatenated with `extra_dim` further values, and n is
    the query.
    """

    match: ParentMatch

    def __init__(self, config: Config, dimension: int, extra_dim: int = 0) -> None:
        nn.Module.__init__(self)  # without graph layers and readout
        self.dropout, self.query_dropout = config.dropout, config.query_dropout
        self.match = ParentMatch(1, dimension + extra_dim, dimension, config.hidden_dim)
        self.mentions = None
        self.criterion = LOSSES[config.loss]

    def _layers(self) -> list[Layer]:
        return []

    def _matrix(self) -> Tensor:
        return self.match.anchor_weight

    def _pool(
        self, names: Tensor, egonets: Egonets, left_out: LeftOutSiblings | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the keys of all anchors [A, H], and of parents without a query [B, H]."""
        known = self._drop(names, self.dropout)
        _, rows, _ = egonets.nodes.split(egonets.sizes)
        keys = F.linear(known.index_select(0, rows), self.match.anchor_weight)
        return keys, keys.index_select(0, rows[:0] if left_out is None else left_out.egonets)


class DeepSetNetwork(ParentNetwork):
    r"""The same MLP on the anchor's vector and an embedding of the set of its children.

    The embedding is :math:`\rho(\frac{1}{k} \sum_u \phi(u))` over k children u, where φ and ρ are
    one layer with ReLU each. A mean is not larger for hubs than for other anchors.
    """

    def __init__(self, config: Config, dimension: int) -> None:
        hidden = config.hidden_dim
        super().__init__(config, dimension, extra_dim=hidden)
        # Only `reset` draws weights, so that the caller's random state does not change.
        self.phi = nn.utils.skip_init(nn.Linear, dimension, hidden)
        self.rho = nn.utils.skip_init(nn.Linear, hidden, hidden)

    def reset(self, generator: torch.Generator) -> None:
        """Initialize all weights (Glorot)."""
        super().reset(generator)
        for layer in (self.phi, self.rho):
            nn.init.xavier_normal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)

    def _pool(
        self, names: Tensor, egonets: Egonets, left_out: LeftOutSiblings | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the keys of all anchors [A, H], and of parents without a query [B, H]."""
        known = self._drop(names, self.dropout)
        _, rows, siblings = egonets.nodes.split(egonets.sizes)
        anchors, each = known.index_select(0, rows), F.relu(self.phi(known))
        sums = each.new_zeros(egonets.size, each.shape[1])
        sums = sums.index_add(0, egonets.sibling_of, each.index_select(0, siblings))
        counts = egonets.counts[:, Position.SIBLING, None].to(each.dtype)
        keys = self._keys(anchors, sums, counts)
        if left_out is None:
            return keys, keys[:0]
        picked, is_shown = left_out.egonets, (left_out.rows >= 0).to(known.dtype)[:, None]
        # Index -1 points to an anchor before the first sibling; its row is multiplied by zero.
        nodes = egonets.nodes.index_select(0, left_out.rows + sum(egonets.sizes[:2]))
        return keys, self._keys(
            anchors.index_select(0, picked),
            sums.index_select(0, picked) - is_shown * each.index_select(0, nodes),
            counts.index_select(0, picked) - is_shown,
        )

    def _keys(self, anchors: Tensor, sums: Tensor, counts: Tensor) -> Tensor:
        """Return the keys [A, H] from anchors [A, D], Σ φ [A, H] and child counts [A, 1]."""
        sets = F.relu(self.rho(sums / counts.clamp(min=1)))
        return F.linear(torch.cat([anchors, sets], dim=1), self.match.anchor_weight)


class NetworkMethod(TrainedMethod):
    """A network trained by self-supervision (Section 4.3), with a preset and changed settings."""

    ranker: Ranker

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        self.config = self._requested = load_preset(preset, **changes)

    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History:
        """Train like `TaxoExpan.fit` with the same seed; raise if the training was interrupted."""
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
        """Return an untrained network for vectors of this size."""


class TaxoExpanMethod(NetworkMethod):
    """The paper's model, or one of its variants with another preset or other settings."""

    def _network(self, dimension: int) -> MatchingNetwork:
        return MatchingNetwork(self.config, dimension)


class ParentMLP(NetworkMethod):
    """An MLP on the vectors of the query and the anchor."""

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        super().__init__(preset, **{"hidden_dim": HIDDEN_DIM, **changes})

    def _network(self, dimension: int) -> MatchingNetwork:
        return ParentNetwork(self.config, dimension)


class DeepSetMLP(ParentMLP):
    """An MLP on the vectors of the query, the anchor, and up to `max_siblings` of its children."""

    def _network(self, dimension: int) -> MatchingNetwork:
        return DeepSetNetwork(self.config, dimension)
