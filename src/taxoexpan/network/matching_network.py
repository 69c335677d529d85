"""The whole network, which encodes the egonets of anchors and matches them with queries."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.batch import TrainingBatch, drop
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Egonets, LeftOutSiblings
from taxoexpan.network.matching import LogBilinearMatch, MentionBonus, make_match
from taxoexpan.network.pooling import make_readout
from taxoexpan.network.propagation import PROPAGATIONS, Layer

LogMatch = Callable[[Tensor], Tensor]
"""The function from raw scores to log f (see `Match.log_match`)."""

_BLOCKED = -1e9
"""Finite, so that a query whose anchors are all blocked does not give NaN gradients."""
ACTIVATION_SLOPE = 0.01
"""The slope of ρ, the LeakyReLU between two layers (Eq. 5); the paper gives none."""


def info_nce(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    r"""Return the summed InfoNCE loss (Eq. 11), and the number of instances.

    .. math:: -\sum_b \log \frac{f(a_b, n_b)}{f(a_b, n_b) + \sum_i f(a_i, n_b)}

    The raw scores are of positive pairs [B] and all pairs [A, B], and `blocked` [2, K] are pairs
    (anchor, query) that are not negatives.
    """
    positive = log_match(positive)
    negatives = log_match(scores)
    total = _replaced(negatives, blocked, _BLOCKED).logsumexp(0)
    return (torch.logaddexp(positive, total) - positive).sum(), len(positive)


def binary_cross_entropy(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    """Return the summed binary cross-entropy of logits (Section 5.1.5), and the number of pairs."""
    del log_match  # the sigmoid replaces it
    positives = F.softplus(-positive)
    negatives = _replaced(F.softplus(scores), blocked, 0.0)
    pairs = scores.numel() - blocked.shape[1] + len(positive)
    return positives.sum() + negatives.sum(), pairs


def _replaced(scores: Tensor, pairs: Tensor, value: float) -> Tensor:
    """Replace the scores [A, B] of some pairs [2, K] with a value."""
    return scores.index_put((pairs[0], pairs[1]), scores.new_full((), value))


LOSSES = {"infonce": info_nce, "bce": binary_cross_entropy}


class MatchingNetwork(nn.Module):
    """Graph layers, a readout and a match (Section 4.2), for vectors of size `dimension` D1."""

    def __init__(self, config: Config, dimension: int) -> None:
        super().__init__()
        c = config
        self.dropout = c.dropout
        self.query_dropout = c.query_dropout
        layer_type, has_positions = PROPAGATIONS[c.propagation]
        position = c.position_dim if has_positions else 0
        inputs = [dimension] + [c.hidden_dim * c.num_heads] * c.num_layers
        self.hidden = nn.ModuleList(
            layer_type(size, c.hidden_dim, c.num_heads, position) for size in inputs[:-1]
        )
        self.output = layer_type(inputs[-1], c.embedding_dim, c.num_output_heads, position)
        for layer in self._layers():
            layer.message_dropout = c.quirks.attention_dropout
            layer.position_norm = c.position_norm
        self.readout = make_readout(c)
        self.match = make_match(c, self.readout.blocks, dimension)
        self.mentions = MentionBonus() if c.uses_mentions else None
        self.criterion = LOSSES[c.loss]

    def reset(self, generator: torch.Generator) -> None:
        """Initialize all weights."""
        for layer in self._layers():
            layer.reset(generator)
        self.match.reset(generator)
        if self.mentions is not None:
            self.mentions.reset()

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Encode every anchor as a key that is matched with queries: [C, D1] → [A, k]."""
        means = self._pool(names, egonets)[0]
        matrix = self._matrix()
        if means.shape[1] < self.match.query:  # the keys of the training are narrower
            return self.match.training_keys(means, matrix)
        return self.match.keys(means, matrix)

    def project_queries(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Project queries for keys [A, k]: [B, D1] → [B, k]."""
        if keys.shape[1] == queries.shape[1]:
            return self.match.project_queries(queries)
        return self.match.project_training_queries(queries, self._matrix())

    def loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
        """Return the mean loss of a batch, given the vectors of all concepts."""
        total, instances = self.total_loss(vectors, batch)
        return total / instances

    def total_loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> tuple[Tensor, int]:
        """Return the summed loss of a batch, and the number of instances."""
        egonets = batch.egonets
        match = self.match
        names, queries = map(vectors.select_names, (egonets.concepts, batch.queries))
        left_out = LeftOutSiblings(batch.positives, batch.own_sibling)
        means, parents = self._pool(names, egonets, left_out)
        matrix = self._matrix()
        if self.training:
            queries = batch.drop_queries(queries, self.query_dropout)
        projected = match.project_training_queries(queries, matrix)
        positive = match.score_pairs(match.training_keys(parents, matrix), projected)
        scores = self._scores(match.training_keys(means, matrix), projected, batch.negatives)
        if self.mentions is not None and batch.mentions is not None:
            bonus = self.mentions(batch.mentions, egonets.size, len(batch.queries))
            scores = scores + _select_negatives(bonus, batch.negatives)
            positive = positive + bonus.gather(0, batch.positives[None, :]).squeeze(0)
        return self.criterion(match.log_match, positive, scores, batch.blocked)

    def _scores(self, keys: Tensor, queries: Tensor, negatives: Tensor | None) -> Tensor:
        """Return the raw scores of negative pairs: [A or N, B]."""
        if negatives is None:
            return self.match.score_all(keys, queries)
        if negatives.dim() == 1:
            return self.match.score_all(keys.index_select(0, negatives), queries)
        # By one index: several threads would add up the gradient of keys[negatives] in any order.
        each = keys.index_select(0, negatives.flatten()).unflatten(0, negatives.shape)
        return self.match.score_pairs(each, queries)

    def _layers(self) -> list[Layer]:
        return [*self.hidden, self.output]

    def _matrix(self) -> Tensor:
        """Return the matrix from a pooled mean to an embedding (`Layer.matrix`)."""
        return self.output.matrix()

    def _pool(
        self, names: Tensor, egonets: Egonets, left_out: LeftOutSiblings | None = None
    ) -> tuple[Tensor, Tensor]:
        """Apply all layers and the readout (`Layer.pool`): [C, D1] → [A, R * K'], [B, R * K']."""
        features = names
        rows: Tensor | None = egonets.nodes
        for layer in self.hidden:
            features = layer(self._drop(features, self.dropout), rows, egonets)
            features = F.leaky_relu(features, ACTIVATION_SLOPE)
            rows = None
        if rows is not None:
            features = features.index_select(0, rows)
        features = self._drop(features, self.dropout)
        return self.output.pool(features, egonets, self.readout, left_out)

    def _drop(self, features: Tensor, rate: float) -> Tensor:
        return drop(features, rate) if self.training else features


class NoNetwork(MatchingNetwork):
    """The place of a network where the settings have none: keys are empty, and raw scores 0."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.match = LogBilinearMatch(1, 0, 0, 0)
        self.mentions = None

    def reset(self, generator: torch.Generator) -> None:
        """Do nothing: there are no weights."""

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Return empty keys [A, 0]."""
        return names.new_zeros(egonets.size, 0)

    def project_queries(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return empty queries [B, 0]."""
        return queries.new_zeros(len(queries), keys.shape[1])


def make_network(config: Config, dimension: int) -> MatchingNetwork:
    """Return the network of the settings, for vectors of this size."""
    return MatchingNetwork(config, dimension) if config.epochs else NoNetwork()


def _select_negatives(scores: Tensor, negatives: Tensor | None) -> Tensor:
    """Select the scores of negative pairs from all scores: [A, B] → [A or N, B]."""
    if negatives is None:
        return scores
    if negatives.dim() == 1:
        return scores.index_select(0, negatives)
    return scores.gather(0, negatives)
