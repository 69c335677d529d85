"""The whole network: an anchor's egonet to one vector, matched with queries."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.dropout import drop
from taxoexpan.network.egonet_sums import Messages
from taxoexpan.network.egonets import Egonets
from taxoexpan.network.fusion import Cosines, FusionHead, compare_leaving_out
from taxoexpan.network.losses import LOSSES
from taxoexpan.network.matching import MentionBonus, make_match
from taxoexpan.network.propagation import PROPAGATIONS, Layer, Leave
from taxoexpan.network.readout import make_readout


class MatchingNetwork(nn.Module):
    """Layers of propagation, a readout and a match (Section 4.2), chosen by their names."""

    def __init__(self, config: Config, dimension: int) -> None:
        super().__init__()
        c = config
        self.dropout, self.query_dropout = c.dropout, c.query_dropout
        kind, positions = PROPAGATIONS[c.propagation]
        position = c.position_dim if positions else 0
        inputs = [dimension] + [c.hidden_dim * c.num_heads] * c.num_layers
        self.hidden = nn.ModuleList(
            kind(i, c.hidden_dim, c.num_heads, position) for i in inputs[:-1]
        )
        self.output = kind(inputs[-1], c.embedding_dim, c.num_output_heads, position)
        for layer in self._layers():
            layer.message_dropout = c.quirks.attention_dropout
            layer.position_norm = c.position_norm
        self.readout = make_readout(c)
        self.match = make_match(c, self.readout.blocks, dimension)
        self.fusion = FusionHead(c.fusion_dim) if c.fusion_dim else None
        self.mentions = MentionBonus() if c.use_mentions else None
        self.criterion = LOSSES[c.loss]

    def reset(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        for part in self._layers():
            part.reset(generator)
        self.match.reset(generator)
        if self.fusion is not None:
            self.fusion.reset(generator)
        if self.mentions is not None:
            self.mentions.reset()

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """The side of every anchor that is kept for queries: [C, D1] → keys [A, k]."""
        return self.match.keys(self._collect(names, egonets)[0], self.output.matrix())

    def encode_leaving_out(
        self, names: Tensor, egonets: Egonets, leave: Leave
    ) -> tuple[Tensor, Tensor]:
        """The keys [A, k], and those [B, k] of egonets that have lost a sibling."""
        matrix = self.output.matrix()
        means, fewer = self._collect(names, egonets, leave)
        return self.match.keys(means, matrix), self.match.keys(fewer, matrix)

    def heard(self, names: Tensor, egonets: Egonets) -> Messages:
        """What every node hears in the last layer, and how much of it."""
        return self.output.messages(self._features(names, egonets), None, egonets)

    def embed(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Every anchor's embedding a (Eq. 6): [C, D1] → [A, D2]."""
        means, _ = self._collect(names, egonets)
        by_block = means.view(len(means), self.readout.blocks, -1)
        return (by_block @ self.output.matrix().T).flatten(1)

    def loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
        """The mean loss of a batch, given the vectors of all concepts."""
        total, instances = self.total_loss(vectors, batch)
        return total / instances

    def total_loss(self, vectors: ConceptVectors, batch: TrainingBatch) -> tuple[Tensor, int]:
        """The sum over a batch, and of how many instances it is."""
        egonets = batch.egonets
        known, queries = vectors.select(egonets.concepts), vectors.select(batch.queries)
        leave = Leave(batch.positives, batch.own_sibling)
        means, parents = self._collect(known.names, egonets, leave)
        matrix, match = self.output.matrix(), self.match
        asked = match.right(self._drop(queries.names, self.query_dropout), matrix)
        positive = match.pairs(match.left(parents, matrix), asked)
        scores = self._scores(match.left(means, matrix), asked, batch.drawn)
        if self.fusion is not None:
            fused = self.fusion(self._compare(known, queries, batch))
            scores = scores + _drawn(fused, batch.drawn)
            positive = positive + fused.gather(0, batch.positives[None, :]).squeeze(0)
        if self.mentions is not None and batch.mentions is not None:
            bonus = self.mentions(batch.mentions, egonets.size, len(batch.queries))
            scores = scores + _drawn(bonus, batch.drawn)
            positive = positive + bonus.gather(0, batch.positives[None, :]).squeeze(0)
        return self.criterion(self.match.log_match, positive, scores, batch.blocked)

    def _scores(self, anchors: Tensor, asked: Tensor, drawn: Tensor | None) -> Tensor:
        """The raw scores of the pairs that are tried as negatives: [A or N, B]."""
        if drawn is None:
            return self.match.grid(anchors, asked)
        if drawn.dim() == 1:
            return self.match.grid(anchors.index_select(0, drawn), asked)
        # By one index: several threads would add up the gradient of anchors[drawn] in any order.
        each = anchors.index_select(0, drawn.flatten()).unflatten(0, drawn.shape)
        return self.match.pairs(each, asked)

    def _compare(
        self, known: ConceptVectors, queries: ConceptVectors, batch: TrainingBatch
    ) -> Tensor:
        """What the fusion head looks at, [8, A, B]; `known` are the egonets' concepts."""
        egonets = batch.egonets
        around = egonets.nodes[egonets.sizes[0] :]
        near = ConceptVectors(
            known.names[: egonets.near], known.heads, known.head_of[: egonets.near]
        )
        heads, rows = near.used_heads()
        asked = queries.heads.index_select(0, queries.head_of)
        return compare_leaving_out(
            Cosines(near.names @ queries.names.T, around),
            Cosines(heads @ asked.T, rows.index_select(0, around)),
            egonets,
            batch.positives,
            batch.own_sibling,
        )

    def _layers(self) -> list[Layer]:
        return [*self.hidden, self.output]

    def _collect(
        self, names: Tensor, egonets: Egonets, leave: Leave | None = None
    ) -> tuple[Tensor, Tensor]:
        """All layers and the readout's means (`Layer.collect`): [C, D1] → [A, R * K'], [B, ..]."""
        return self.output.collect(self._features(names, egonets), egonets, self.readout, leave)

    def _features(self, names: Tensor, egonets: Egonets) -> Tensor:
        """What the last layer is given: [C, D1] → [nodes, inputs]."""
        features = names
        rows: Tensor | None = egonets.nodes
        for layer in self.hidden:
            features = layer(self._drop(features, self.dropout), rows, egonets)
            features, rows = F.leaky_relu(features, 0.01), None
        if rows is not None:
            features = features.index_select(0, rows)
        return self._drop(features, self.dropout)

    def _drop(self, features: Tensor, share: float) -> Tensor:
        return drop(features, share) if self.training else features


def _drawn(scores: Tensor, drawn: Tensor | None) -> Tensor:
    """Of the scores of all pairs [A, B] those that are tried as negatives."""
    if drawn is None:
        return scores
    return scores.index_select(0, drawn) if drawn.dim() == 1 else scores.gather(0, drawn)
