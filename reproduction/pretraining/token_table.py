"""Tokenized texts on a device, from which batches are taken without a loop over texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from taxoexpan.device import CPU
from taxoexpan.features.sentence_model import SentenceModel, Tokens
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

ENCODED, TRAINED = 8192, 1024
"""Texts that are encoded at a time, without and with gradients."""


class TextTokenizer(Protocol):
    """What splits texts into tokens: a sentence model, or its tokenizer alone."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens."""


def token_arrays(tokenizer: TextTokenizer, texts: Sequence[str]) -> tuple[Indices, Indices]:
    """Return the number of tokens of each text [N], and all tokens, one after the other [T]."""
    tokens = tokenizer.tokenize(texts)
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    return lengths, np.fromiter(chain.from_iterable(tokens), np.int64, int(lengths.sum()))


class TokenTable:
    """The tokens of N texts, one after the other [T], with the start and length of each [N]."""

    def __init__(self, lengths: Indices, flat: Indices, device: torch.device = CPU) -> None:
        self.lengths = torch.from_numpy(lengths).to(device)
        self.starts = self.lengths.cumsum(0) - self.lengths
        self.flat = torch.from_numpy(flat).to(device)

    @classmethod
    def of_texts(
        cls, tokenizer: TextTokenizer, texts: Sequence[str], device: torch.device = CPU
    ) -> TokenTable:
        """Tokenize texts."""
        return cls(*token_arrays(tokenizer, texts), device)

    @classmethod
    def of_taxonomy(cls, model: SentenceModel, taxonomy: Taxonomy) -> tuple[TokenTable, TokenTable]:
        """Tokenize the texts of all concepts as queries and as anchors, on the model's device."""
        queries = [query_text(concept) for concept in taxonomy.concepts]
        texts = queries, anchor_texts(taxonomy)
        of_queries, of_anchors = (cls.of_texts(model, each, model.device) for each in texts)
        return of_queries, of_anchors

    def batch(self, rows: Tensor, multiple: int = 1) -> tuple[Tensor, Tensor]:
        """Return the padded tokens of some texts, and which are valid: [B] → [B, L] each.

        L is a multiple of a given number, for the kernels of a GPU.
        """
        lengths, starts = self.lengths[rows], self.starts[rows]
        longest = -(-int(lengths.max()) // multiple) * multiple
        columns = torch.arange(longest, device=rows.device)
        mask = columns < lengths[:, None]
        places = (starts[:, None] + columns).clamp(max=len(self.flat) - 1)
        return self.flat[places] * mask, mask

    def encode(self, model: SentenceModel, rows: Tensor) -> Tensor:
        """Return the vectors of some texts, encoded in blocks of similar length: [B] → [B, D]."""
        size = TRAINED if torch.is_grad_enabled() else ENCODED
        order = self.lengths[rows].argsort(stable=True)
        blocks = (self.batch(rows[part]) for part in order.split(size))
        vectors = [model(ids.to(model.device), mask.to(model.device)) for ids, mask in blocks]
        return torch.cat(vectors).float()[order.argsort().to(model.device)]

    def encode_all(self, model: SentenceModel) -> Tensor:
        """Return the vectors of all texts: [N, D]."""
        return self.encode(model, torch.arange(len(self.lengths), device=self.flat.device))
