"""The whole network: an anchor's egonet to one vector, matched with queries."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.configuration import Configuration, pick
from taxoexpan.egonets import Egonets
from taxoexpan.network.comparison import compare_leaving_out
from taxoexpan.network.losses import LOSSES
from taxoexpan.network.matching import MATCHES, FusionHead
from taxoexpan.network.propagation import PROPAGATIONS, EgonetSums, Layer
from taxoexpan.network.readout import READOUTS
from taxoexpan.supervision import TrainingBatch


class MatchingNetwork(nn.Module):
    """Layers of propagation, a readout and a match (Section 4.2), chosen by their names."""

    def __init__(self, configuration: Configuration, dimension: int) -> None:
        super().__init__()
        c = configuration
        self.dropout, self.query_dropout = c.dropout, c.query_dropout
        kind, positions = pick("propagation", c.propagation, PROPAGATIONS)
        position = c.position if positions else 0
        inputs = [dimension] + [c.hidden * c.heads] * c.layers
        self.hidden = nn.ModuleList(kind(i, c.hidden, c.heads, position) for i in inputs[:-1])
        self.output = kind(inputs[-1], c.output, c.output_heads, position)
        self.readout = pick("readout", c.readout, READOUTS)()
        match = pick("matching", c.matching, MATCHES)
        self.match = match(self.readout.blocks, c.output, dimension, c.hidden)
        self.fusion = FusionHead(c.fusion) if c.fusion else None
        self.criterion = pick("loss", c.loss, LOSSES)

    def reset(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        for part in self._layers():
            part.reset(generator)
        self.match.reset(generator)
        if self.fusion is not None:
            self.fusion.reset(generator)

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """The side of every anchor that is kept for queries: [C, D1] → keys [A, k]."""
        return self.match.keys(self._collect(names, egonets).mean(), self.output.matrix())

    def embed(self, names: Tensor, egonets: Egonets) -> Tensor:
        """Every anchor's embedding a (Eq. 6): [C, D1] → [A, D2]."""
        means = self._collect(names, egonets).mean()
        by_block = means.view(len(means), self.readout.blocks, -1)
        return (by_block @ self.output.matrix().T).flatten(1)

    def loss(self, vectors: Tensor, batch: TrainingBatch) -> Tensor:
        """The loss of a batch; `vectors` [2, N, D1] are all concepts' (see features)."""
        egonets = batch.egonets
        queries = vectors.index_select(1, batch.queries)
        known = vectors.index_select(1, egonets.concepts)
        sums = self._collect(known[0], egonets)
        parents = sums.mean_without(egonets, batch.positives, batch.own_sibling)
        asked = self._drop(queries[0], self.query_dropout)
        matrix = self.output.matrix()
        left, right = self.match.sides(torch.cat([sums.mean(), parents]), asked, matrix)
        anchors, own = left.split([egonets.size, len(parents)])
        positive = self.match.pairs(own, right)
        if batch.drawn is None:
            scores = self.match.grid(anchors, right)
        else:
            scores = self.match.pairs(anchors[batch.drawn.T], right)
        if self.fusion is not None:
            cosines = known @ queries.mT
            compared = compare_leaving_out(cosines, egonets, batch.positives, batch.own_sibling)
            fused = self.fusion(compared)
            scores = scores + (fused if batch.drawn is None else fused.gather(0, batch.drawn.T))
            positive = positive + fused.gather(0, batch.positives[None, :]).squeeze(0)
        return self.criterion(self.match.log_match, positive, scores, batch.blocked.T)

    def _layers(self) -> list[Layer]:
        return [*self.hidden, self.output]

    def _collect(self, names: Tensor, egonets: Egonets) -> EgonetSums:
        """All layers and the readout's sum, but for the output layer's matrix."""
        features = names
        rows: Tensor | None = egonets.nodes
        for layer in self.hidden:
            features = layer(self._drop(features, self.dropout), rows, egonets)
            features, rows = F.leaky_relu(features, 0.01), None
        if rows is not None:
            features = features.index_select(0, rows)
        return self.output.collect(self._drop(features, self.dropout), egonets, self.readout)

    def _drop(self, features: Tensor, share: float) -> Tensor:
        """Dropout by random bytes, eight to a draw: on a CPU, floats are dear to draw."""
        if not self.training or not share:
            return features
        draws = torch.empty(-(-features.numel() // 8), dtype=torch.int64, device=features.device)
        drawn = draws.random_(-(2**63), None).view(torch.uint8)[: features.numel()]
        dropped = round(256 * share)
        kept = (drawn >= dropped).view_as(features)
        return features * kept * (256 / (256 - dropped))
