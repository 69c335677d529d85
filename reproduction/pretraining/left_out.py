"""The figures of vocabularies that an encoder does not learn from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F

from reproduction.pretraining.token_table import TokenTable
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import PARENT_WEIGHT, anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out_growth
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.true_ranks import rank_true_parents

MAX_HELD_OUT = 1000
"""Concepts of a vocabulary that are held out, at most."""
QueriesAndAnchors = tuple[Tensor, Tensor]
"""The vectors of held-out concepts [Q, D] and of all anchors [A, D] by one model."""


def hold_out_some(taxonomy: Taxonomy) -> Holdout:
    """Hold out concepts of a vocabulary that the model does not learn from."""
    return hold_out_growth(taxonomy, "auto", MAX_HELD_OUT, 0)


class LeftOut:
    """Held-out concepts of a vocabulary, and what they are placed in, tokenized for a model."""

    def __init__(self, model: SentenceModel, holdout: Holdout) -> None:
        self.parents = holdout.parents
        known = holdout.taxonomy
        self.first_parents = torch.from_numpy(known.first_parents)
        texts = [query_text(concept) for concept in holdout.concepts]
        self.queries = TokenTable.of_texts(model, texts, model.device)
        self.anchors = TokenTable.of_texts(model, anchor_texts(known), model.device)
        own = [query_text(concept) for concept in known.concepts]
        self.own = TokenTable.of_texts(model, own, model.device)
        self.labels = TokenTable.of_texts(model, known.labels, model.device)

    @torch.no_grad()
    def encode(self, model: SentenceModel, composed: bool = False) -> QueriesAndAnchors:
        """Return the vectors of the held-out concepts [Q, D] and of all anchors [A, D].

        An anchor has a text of its own, or is `composed` of two vectors as in the preset `fast`.
        """
        model.eval()
        with half_precision(model.device):
            queries = self.queries.encode_all(model)
            if not composed:
                return queries, self.anchors.encode_all(model)
            parents = self.labels.encode_all(model)[self.first_parents.to(queries.device)]
            sums = self.own.encode_all(model) + PARENT_WEIGHT * parents
            return queries, F.normalize(sums, dim=1)

    def measure(self, encoded: Sequence[QueriesAndAnchors]) -> Metrics:
        """Rank the parents of the held-out concepts by the mean cosine of one or more models."""
        scores = torch.stack([anchors @ queries.T for queries, anchors in encoded]).mean(0)
        return compute_metrics(rank_true_parents(scores.float(), self.parents))


def half_precision(device: torch.device) -> torch.autocast | nullcontext[None]:
    """Compute in bfloat16 on a GPU, without cuDNN's attention, which prepares every new shape."""
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()
