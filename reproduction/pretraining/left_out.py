"""The figures of vocabularies that an encoder does not learn from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch

from reproduction.pretraining.token_table import TokenTable
from reproduction.pretraining.vocabularies import Vocabulary
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import anchor_texts, query_text
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
        self.queries = TokenTable.of_texts(model, [query_text(c) for c in holdout.concepts])
        self.anchors = TokenTable.of_texts(model, anchor_texts(holdout.taxonomy))

    @torch.no_grad()
    def measure(self, model: SentenceModel) -> Metrics:
        """Rank the parents of the held-out concepts by the model's cosines."""
        model.eval()
        with half_precision(model.device):
            queries, anchors = (table.encode_all(model) for table in (self.queries, self.anchors))
        return compute_metrics(rank_true_parents(anchors @ queries.T, self.parents))


def measure_all(
    model: SentenceModel, left_out: Sequence[Vocabulary], tests: Sequence[LeftOut]
) -> dict[str, dict[str, float]]:
    """Return the metrics of every vocabulary that was left out, and print their means."""
    found = [test.measure(model) for test in tests]
    if found:
        hits, mrr = (np.mean([getattr(m, name) for m in found]) for name in ("hit_at_1", "mrr"))
        print(f"left out: Hit@1 {hits:.4f}, MRR {mrr:.4f}", file=sys.stderr, flush=True)
    return {each.name: m.as_dict() for each, m in zip(left_out, found, strict=True)}


def half_precision(device: torch.device) -> torch.autocast | nullcontext[None]:
    """Compute in bfloat16 on a GPU."""
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()
