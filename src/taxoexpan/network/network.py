"""The whole network: an anchor's egonet to one vector, matched with queries."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.configuration import Configuration
from taxoexpan.egonets import Egonets
from taxoexpan.network.comparison import compare_leaving_out
from taxoexpan.network.matching import FusionHead, LogBilinearMatch
from taxoexpan.network.propagation import EgonetSums, HiddenLayer, OutputLayer, leave_out
from taxoexpan.network.readout import WeightedMeanReadout
from taxoexpan.supervision import TrainingBatch


class MatchingNetwork(nn.Module):
    """Two layers of position-enhanced attention, weighted mean readout, log-bilinear match."""

    def __init__(self, configuration: Configuration, dimension: int) -> None:
        super().__init__()
        c = configuration
        self.dropout, self.query_dropout = c.dropout, c.query_dropout
        self.hidden = HiddenLayer(dimension, c.hidden, c.heads, c.position)
        self.output = OutputLayer(c.hidden * c.heads, c.output, c.position)
        self.readout = WeightedMeanReadout()
        self.match = LogBilinearMatch(c.output, dimension)
        self.fusion = FusionHead(c.fusion) if c.fusion else None

    def reset(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        for part in (self.hidden, self.output, self.match, self.fusion):
            if part is not None:
                part.reset(generator)

    def encode(self, names: Tensor, egonets: Egonets) -> Tensor:
        """What queries are multiplied with, for every anchor: [C, D1] → keys [A, D1]."""
        sums = self._collect(names, egonets)
        return sums.mean() @ (self.output.matrix().T @ self.match.weight)

    def loss(self, vectors: Tensor, batch: TrainingBatch) -> Tensor:
        """InfoNCE, Eq. 11, of a batch; `vectors` [2, N, D1] are all concepts' (see features)."""
        egonets = batch.egonets
        queries = vectors.index_select(1, batch.queries)
        known = vectors.index_select(1, egonets.concepts)
        sums = self._collect(known[0], egonets)
        parents = leave_out(sums, egonets, batch.positives, batch.own_sibling)
        # a W n with a = [W ‖ O] m: the matrices go to the few queries, not to the many anchors.
        asked = self._drop(queries[0], self.query_dropout) @ self.match.weight.T
        asked = asked @ self.output.matrix()
        positive = (parents * asked).sum(1)
        scores = sums.mean() @ asked.T
        if self.fusion is not None:
            cosines = known @ queries.mT
            compared = compare_leaving_out(cosines, egonets, batch.positives, batch.own_sibling)
            fused = self.fusion(compared)
            scores = scores + fused
            positive = positive + fused.gather(0, batch.positives[None, :]).squeeze(0)
        # A finite floor: a query whose anchors are all blocked must not give NaN gradients.
        others = scores.masked_fill(batch.blocked.T, -1e9).logsumexp(0)
        return (torch.logaddexp(positive, others) - positive).mean()

    def _collect(self, features: Tensor, egonets: Egonets) -> EgonetSums:
        """Both layers and the readout's sum, but for the output layer's matrix."""
        hidden = F.leaky_relu(self.hidden(self._drop(features, self.dropout), egonets), 0.01)
        return self.output.collect(
            self._drop(hidden, self.dropout), egonets, self.readout.weights()
        )

    def _drop(self, features: Tensor, share: float) -> Tensor:
        """Dropout by random bytes, eight to a draw: on a CPU, floats are dear to draw."""
        if not self.training or not share:
            return features
        draws = torch.empty(-(-features.numel() // 8), dtype=torch.int64, device=features.device)
        drawn = draws.random_(-(2**63), None).view(torch.uint8)[: features.numel()]
        dropped = round(256 * share)
        kept = (drawn >= dropped).view_as(features)
        return features * kept * (256 / (256 - dropped))
