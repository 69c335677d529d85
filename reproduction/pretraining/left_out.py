"""The figures of vocabularies that an encoder does not learn from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch
from torch.nn import functional as F

from reproduction.pretraining.token_table import TokenTable
from reproduction.pretraining.vocabularies import Vocabulary
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import PARENT_WEIGHT, anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import hold_out_growth
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.true_ranks import rank_true_parents

MAX_HELD_OUT = 1000
"""Concepts of a vocabulary that are held out, at most."""


class LeftOut:
    """Held-out concepts of a vocabulary that the model does not learn from."""

    def __init__(self, model: SentenceModel, taxonomy: Taxonomy) -> None:
        holdout = hold_out_growth(taxonomy, "auto", MAX_HELD_OUT, 0)
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
    def measure(self, model: SentenceModel, composed: bool = False) -> Metrics:
        """Rank the parents of the held-out concepts by the model's cosines.

        An anchor has a text of its own, or is `composed` of two vectors as in the preset `fast`.
        """
        model.eval()
        with half_precision(model.device):
            queries = self.queries.encode_all(model)
            if composed:
                parents = self.labels.encode_all(model)[self.first_parents.to(queries.device)]
                sums = self.own.encode_all(model) + PARENT_WEIGHT * parents
                anchors = F.normalize(sums, dim=1)
            else:
                anchors = self.anchors.encode_all(model)
            scores = anchors @ queries.T
        return compute_metrics(rank_true_parents(scores.float(), self.parents))


def measure_all(
    model: SentenceModel,
    left_out: Sequence[Vocabulary],
    tests: Sequence[LeftOut],
    composed: bool = False,
) -> dict[str, dict[str, float]]:
    """Return the metrics of every vocabulary that was left out, and print their means."""
    found = [test.measure(model, composed) for test in tests]
    if found:
        hits, mrr = (np.mean([getattr(m, name) for m in found]) for name in ("hit_at_1", "mrr"))
        kind = "composed anchors" if composed else "anchors' texts"
        print(f"left out, {kind}: Hit@1 {hits:.4f}, MRR {mrr:.4f}", file=sys.stderr, flush=True)
    return {each.name: m.as_dict() for each, m in zip(left_out, found, strict=True)}


def half_precision(device: torch.device) -> torch.autocast | nullcontext[None]:
    """Compute in bfloat16 on a GPU, without cuDNN's attention, which prepares every new shape."""
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()
