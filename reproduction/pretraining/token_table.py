"""Tokenized texts on a device, from which batches are taken without a loop over texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from taxoexpan.features.minilm import MiniLM
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy

ENCODED, TRAINED = 8192, 1024
"""Texts that are encoded at a time, without and with gradients."""


class TokenTable:
    """The tokens of N texts, one after the other [T], with the start and length of each [N]."""

    def __init__(self, model: MiniLM, texts: Sequence[str]) -> None:
        tokens = model.tokenize(texts)
        lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        flat = np.fromiter(chain.from_iterable(tokens), np.int32, int(lengths.sum()))
        self.lengths = torch.from_numpy(lengths).to(model.device)
        self.starts = self.lengths.cumsum(0) - self.lengths
        self.flat = torch.from_numpy(flat).to(model.device)

    @classmethod
    def of_taxonomy(cls, model: MiniLM, taxonomy: Taxonomy) -> tuple[TokenTable, TokenTable]:
        """Tokenize the texts of all concepts as queries and as anchors."""
        queries = [query_text(concept) for concept in taxonomy.concepts]
        return cls(model, queries), cls(model, anchor_texts(taxonomy))

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the padded tokens of some texts, and which are valid: [B] → [B, L] each."""
        lengths, starts = self.lengths[rows], self.starts[rows]
        columns = torch.arange(int(lengths.max()), device=rows.device)
        mask = columns < lengths[:, None]
        places = (starts[:, None] + columns).clamp(max=len(self.flat) - 1)
        return self.flat[places].long() * mask, mask

    def encode(self, model: MiniLM, rows: Tensor) -> Tensor:
        """Return the vectors of some texts, encoded in blocks of similar length: [B] → [B, D]."""
        size = TRAINED if torch.is_grad_enabled() else ENCODED
        order = self.lengths[rows].argsort(stable=True)
        vectors = torch.cat([model(*self.batch(rows[part])) for part in order.split(size)])
        return vectors.float()[order.argsort()]

    def encode_all(self, model: MiniLM) -> Tensor:
        """Return the vectors of all texts: [N, D]."""
        return self.encode(model, torch.arange(len(self.lengths), device=self.flat.device))
