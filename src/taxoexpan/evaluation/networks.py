"""The two networks that TaxoExpan is compared with, ParentMLP and DeepSetMLP (Section 5.1.3).

Each is an MLP on a query and a candidate position. Both are trained like TaxoExpan: the same
instances, negatives, InfoNCE loss, optimizer, dropout on the input vectors and early stopping. The
paper does not give their sizes. All layers have `hidden_dim` units, by default 500, the size of an
anchor's embedding in TaxoExpan.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config, load_preset
from taxoexpan.evaluation.methods import Method, Problem
from taxoexpan.features.mentions import resolve_mentions
from taxoexpan.network.batch import TrainingBatch, drop
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Egonets, Position
from taxoexpan.network.losses import LOSSES
from taxoexpan.network.matching import ReluMLPMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.fitting.preparation import TrainingData
from taxoexpan.placement.fitting.session import train_network
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.record import History

HIDDEN_DIM = 500


class ParentNetwork(nn.Module):
    r"""An MLP with one hidden layer, :math:`w_2 \cdot \mathrm{ReLU}(W_1 [a \| n] + b_1) + b_2`.

    The position a is the anchor's vector, concatenated with `extra_dim` further values. W1's
    products with the position and the query n are computed once each, so a pair costs an addition.
    """

    fusion = None
    mentions = None

    def __init__(self, config: Config, dimension: int, extra_dim: int = 0) -> None:
        super().__init__()
        c = config
        self.dropout, self.query_dropout = c.dropout, c.query_dropout
        self.match = ReluMLPMatch(1, dimension + extra_dim, dimension, c.hidden_dim)
        self.criterion = LOSSES[c.loss]

    def reset(self, generator: torch.Generator) -> None:
        """Initialize all weights (Glorot)."""
        self.match.reset(generator)

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Return W1's product with every position, the keys of the anchors: [C, D] → [A, H]."""
        return self._keys(self._positions(names, egonets))

    def loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
        """Return the mean loss of a batch, given the vectors of all concepts."""
        total, instances = self.total_loss(vectors, batch)
        return total / instances

    def total_loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> tuple[Tensor, int]:
        """Return the summed loss of a batch, and the number of instances."""
        near = batch.egonets.concepts[: batch.egonets.near]
        names = self._drop(vectors.names.index_select(0, near), self.dropout)
        queries = vectors.names.index_select(0, batch.queries)
        projected = self.match.project_queries(self._drop(queries, self.query_dropout))
        keys, parents = self._sides(names, batch)
        positive, scores = (
            self.match.score_pairs(parents, projected),
            self._scores(keys, projected, batch.negatives),
        )
        return self.criterion(self.match.log_match, positive, scores, batch.blocked)

    def _scores(self, keys: Tensor, projected: Tensor, drawn: Tensor | None) -> Tensor:
        """Return the scores of the negative pairs: [A or N, B]."""
        if drawn is None:
            return self.match.score_all(keys, projected)
        # Not `keys[drawn]`: on a CPU the order in which threads sum its gradient is not fixed.
        negatives = keys.index_select(0, drawn.flatten())
        if drawn.dim() == 1:
            return self.match.score_all(negatives, projected)
        return self.match.score_pairs(negatives.unflatten(0, drawn.shape), projected)

    def _sides(self, names: Tensor, batch: TrainingBatch) -> tuple[Tensor, Tensor]:
        """Return the keys of all anchors [A, H], and of parents without their queries [B, H]."""
        keys = self.encode(names, batch.egonets)
        return keys, keys.index_select(0, batch.positives)

    def _positions(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Return the anchors' vectors: [C, D] → [A, D]."""
        _, anchors, _ = egonets.nodes.split(egonets.sizes)
        return names.index_select(0, anchors)

    def _keys(self, positions: Tensor) -> Tensor:
        return F.linear(positions, self.match.anchor_weight)

    def _drop(self, values: Tensor, rate: float) -> Tensor:
        return drop(values, rate) if self.training else values


class DeepSetNetwork(ParentNetwork):
    r"""The same MLP on the anchor's vector and an embedding of the set of its children.

    The embedding is :math:`\rho(\frac{1}{k} \sum_u \phi(u))` over k children u, where φ and ρ are
    one layer with ReLU each. The input of ρ is a mean, so that it is no larger for hubs; without
    children it is zero.
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

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Return W1's product with every position, the keys of the anchors: [C, D] → [A, H]."""
        sums, counts = self._sums(self._each(names, egonets), egonets)
        return self._with_sets(self._positions(names, egonets), sums, counts)

    def _sides(self, names: Tensor, batch: TrainingBatch) -> tuple[Tensor, Tensor]:
        """Return the keys of all anchors [A, H], and of parents without their queries [B, H]."""
        egonets, picked = batch.egonets, batch.positives
        anchors, each = self._positions(names, egonets), self._each(names, egonets)
        sums, counts = self._sums(each, egonets)
        is_shown = (batch.own_sibling >= 0).to(names.dtype)[:, None]
        # Index -1 points to an anchor before the first sibling; its row is multiplied by zero.
        nodes = egonets.nodes.index_select(0, batch.own_sibling + sum(egonets.sizes[:2]))
        parents = self._with_sets(
            anchors.index_select(0, picked),
            sums.index_select(0, picked) - is_shown * each.index_select(0, nodes),
            counts.index_select(0, picked) - is_shown,
        )
        return self._with_sets(anchors, sums, counts), parents

    def _each(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Return φ of all concepts except grandparents: [C, D] → [near, H]."""
        return F.relu(self.phi(names[: egonets.near]))

    def _sums(self, each: Tensor, egonets: Egonets) -> tuple[Tensor, Tensor]:
        """Return Σ φ over the children of each anchor [A, H], and their number [A, 1]."""
        _, _, siblings = egonets.nodes.split(egonets.sizes)
        sums = each.new_zeros(egonets.size, each.shape[1])
        sums = sums.index_add(0, egonets.sibling_of, each.index_select(0, siblings))
        return sums, egonets.counts[:, Position.SIBLING, None].to(each.dtype)

    def _with_sets(self, anchors: Tensor, sums: Tensor, counts: Tensor) -> Tensor:
        """Return the keys, from anchors [A, D], Σ φ [A, H] and child counts [A, 1]: [A, H]."""
        sets = F.relu(self.rho(sums / counts.clamp(min=1)))
        return self._keys(torch.cat([anchors, sets], dim=1))


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


class ParentMLP(NetworkMethod):
    """Scores a pair with an MLP on the vectors of the query and the anchor."""

    name = "ParentMLP"

    def __init__(self, preset: str = "paper", **changes: Any) -> None:
        super().__init__(preset, **{"hidden_dim": HIDDEN_DIM, **changes})

    def _network(self, dimension: int) -> MatchingNetwork:
        # Training and ranking only use the methods that these two networks have.
        return cast(MatchingNetwork, ParentNetwork(self.config, dimension))


class DeepSetMLP(ParentMLP):
    """Scores a pair with an MLP on the vectors of query and anchor and the set of its children.

    As in TaxoExpan, a query is never among the children of its own parent, and at most
    `max_siblings` children count.
    """

    name = "DeepSetMLP"

    def _network(self, dimension: int) -> MatchingNetwork:
        return cast(MatchingNetwork, DeepSetNetwork(self.config, dimension))
