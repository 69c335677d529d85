"""Tokenized texts, from which batches are taken without a loop over texts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from reproduction.pretraining.packing import PackedTokens, can_pack, encode_packed
from taxoexpan.device import CPU
from taxoexpan.features.sentence_model import SentenceModel, Tokens
from taxoexpan.taxonomy.arrays import Indices

ENCODED, TRAINED = 8192, 1024
"""Texts that are encoded at a time, without and with gradients."""
PACKED = 1 << 19
"""Tokens that are encoded at a time without padding and without gradients."""
LENGTH_MULTIPLE = 8
"""What the padded lengths on a GPU are a multiple of, for its kernels."""


class TextTokenizer(Protocol):
    """What splits texts into tokens: a sentence model, or its tokenizer alone."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens."""


def token_arrays(tokenizer: TextTokenizer, texts: Sequence[str]) -> tuple[Indices, Indices]:
    """Return the number of tokens of each text [N], and all tokens, one after the other [T]."""
    tokens = tokenizer.tokenize(texts)
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    return lengths, np.fromiter(chain.from_iterable(tokens), np.int32, int(lengths.sum()))


class TokenTable:
    """The tokens of N texts, one after the other [T], with the start and length of each [N].

    The tokens are on a device, the starts and lengths are not: the shape of a batch is known
    without waiting for the device.
    """

    def __init__(self, lengths: Indices, flat: Indices, device: torch.device = CPU) -> None:
        self.lengths = lengths
        self.starts = lengths.cumsum() - lengths
        self.flat = torch.from_numpy(flat).to(device)

    @classmethod
    def of_texts(
        cls, tokenizer: TextTokenizer, texts: Sequence[str], device: torch.device = CPU
    ) -> TokenTable:
        """Tokenize texts."""
        return cls(*token_arrays(tokenizer, texts), device)

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device) -> TokenTable:
        """Return the same tokens on another device."""
        moved = copy.copy(self)
        moved.flat = self.flat.to(device)
        return moved

    def batch(self, rows: Indices) -> tuple[Tensor, Tensor]:
        """Return the padded tokens of some texts, and which are valid: [B] → [B, L] each."""
        device = self.flat.device
        lengths = self.lengths[rows]
        multiple = LENGTH_MULTIPLE if device.type == "cuda" else 1
        longest = -(-int(lengths.max()) // multiple) * multiple
        places = np.stack([self.starts[rows], lengths])
        starts, sizes = torch.from_numpy(places).to(device, non_blocking=True)[:, :, None]
        columns = torch.arange(longest, device=device)
        mask = columns < sizes
        return self.flat[(starts + columns).clamp(max=len(self.flat) - 1)].long() * mask, mask

    def blocks(self, rows: Indices, size: int) -> Iterator[tuple[Indices, Tensor, Tensor]]:
        """Yield blocks of texts of similar length: their places in `rows`, tokens and mask."""
        order = np.argsort(self.lengths[rows], kind="stable")
        for start in range(0, len(order), size):
            places = order[start : start + size]
            yield places, *self.batch(rows[places])

    def packed(self, rows: Indices) -> PackedTokens:
        """Return the tokens of some texts [B], several in a row."""
        return PackedTokens.of(self.flat, self.starts[rows], self.lengths[rows])

    def encode(self, model: SentenceModel, rows: Indices) -> Tensor:
        """Return the vectors of some texts: [B] → [B, D]."""
        if not can_pack(model):
            return self._encode_padded(model, rows)
        if torch.is_grad_enabled():
            return encode_packed(model, self.packed(rows))
        parts = np.array_split(rows, -(-int(self.lengths[rows].sum()) // PACKED) or 1)
        return torch.cat([encode_packed(model, self.packed(part)) for part in parts])

    def _encode_padded(self, model: SentenceModel, rows: Indices) -> Tensor:
        """Return the vectors of some texts, encoded in blocks of similar length: [B] → [B, D]."""
        size = TRAINED if torch.is_grad_enabled() else ENCODED
        places: list[Indices] = []
        vectors: list[Tensor] = []
        for block, ids, mask in self.blocks(rows, size):
            places.append(block)
            vectors.append(model(ids.to(model.device), mask.to(model.device)).float())
        back = torch.from_numpy(np.argsort(np.concatenate(places))).to(model.device)
        return torch.cat(vectors)[back]

    def encode_all(self, model: SentenceModel) -> Tensor:
        """Return the vectors of all texts: [N, D]."""
        return self.encode(model, np.arange(len(self)))
