"""Sentence models, which turn tokens into unit vectors, in blocks of similar length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from taxoexpan.progress import Progress

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MAX_TOKENS = 24
"""Tokens of a text that are read; the rest of a long definition says little about its genus."""
CPU_BLOCK = 32
GPU_BLOCK = 1024
"""Texts that are encoded at a time: of similar length, so that little is padding."""
TOKENIZER_BLOCK = 4096
"""Texts that are tokenized at a time; a tokenizer's own result is many times larger."""

Tokens = Sequence[int]
"""The numbers of a text's tokens."""


class SentenceModel(nn.Module, ABC):
    """A model that encodes texts as unit vectors of size `dimension` D."""

    dimension: int

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    @abstractmethod
    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `MAX_TOKENS`."""

    @abstractmethod
    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into at most `MAX_TOKENS` tokens each."""
        starts = range(0, len(texts), TOKENIZER_BLOCK)
        blocks = (self.token_ids(list(texts[i : i + TOKENIZER_BLOCK])) for i in starts)
        return [array("i", ids) for block in blocks for ids in block]

    def freeze_lower_layers(self, tuned_layers: int) -> list[nn.Parameter]:
        """Freeze the weights that a fine-tuning leaves as they are, and return the others.

        A model that does not know its layers ignores `tuned_layers`.
        """
        del tuned_layers
        return [weight for weight in self.parameters() if weight.requires_grad]

    def keep_states(self, tokens: Sequence[Tokens]) -> None:
        """Run the frozen layers on tokenized texts once, and keep as many states as there is room.

        Later encodings of these texts run the other layers only, with and without gradients.
        """

    def drop_states(self) -> None:
        """Free the memory of the kept states."""

    def encode_blocks(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return one unit vector per tokenized text: [N, D]."""
        order = np.argsort([len(each) for each in tokens], kind="stable")
        size = CPU_BLOCK if self.device.type == "cpu" else GPU_BLOCK
        # One tensor: many small ones would lie among the freed memory of the layers, and hold it.
        vectors = torch.empty(len(tokens), self.dimension, device=self.device)
        with Progress("encoding", len(tokens), "texts", shown=False) as bar:
            for start in range(0, len(order), size):
                rows = order[start : start + size]
                block = self.encode_block([tokens[row] for row in rows.tolist()])
                vectors[torch.from_numpy(rows).to(self.device)] = block
                bar.update(len(rows))
        return vectors

    def encode_block(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return one unit vector per text of a block: [B, D]."""
        ids, mask = pad(tokens)
        vectors: Tensor = self(ids.to(self.device), mask.to(self.device))
        return vectors

    @torch.no_grad()
    def encode_tokens(self, tokens: Sequence[Tokens]) -> Tensor:
        """Encode without gradients and dropout, and equal texts once: [N, D]."""
        was_training = self.training
        self.eval()
        distinct: dict[tuple[int, ...], int] = {}
        rows = [distinct.setdefault(tuple(each), len(distinct)) for each in tokens]
        vectors = self.encode_blocks(list(distinct))
        self.train(was_training)
        return vectors[torch.tensor(rows, dtype=torch.int64, device=self.device)]

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return one unit vector per text: [N, D]."""
        return self.encode_tokens(self.tokenize(texts))


def pad(tokens: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
    """Return the token numbers of texts, padded with 0, and which are valid: [B, L] each."""
    lengths = np.array([len(each) for each in tokens])
    ids = np.zeros((len(tokens), lengths.max(initial=0)), dtype=np.int64)
    for row, each in enumerate(tokens):
        ids[row, : len(each)] = each
    return torch.from_numpy(ids), torch.from_numpy(np.arange(ids.shape[1]) < lengths[:, None])


class LoadedTransformer(SentenceModel):
    """The modules of a sentence transformer, under the same names, and its tokenizer."""

    def __init__(self, transformer: SentenceTransformer) -> None:
        super().__init__()
        self.dimension = transformer.get_embedding_dimension() or 0
        self.tokenizer = transformer.tokenizer
        self.longest = min(MAX_TOKENS, transformer.max_seq_length or MAX_TOKENS)
        for name, module in transformer.named_children():
            self.add_module(name, module)

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, at most `MAX_TOKENS`."""
        ids: list[list[int]] = self.tokenizer(texts, truncation=True, max_length=self.longest)[
            "input_ids"
        ]
        return ids

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        padded = ids.masked_fill(~mask, self.tokenizer.pad_token_id or 0)
        features: Any = {"input_ids": padded, "attention_mask": mask.to(ids.dtype)}
        for module in self.children():
            features = module(features)
        return nn.functional.normalize(features["sentence_embedding"].float(), dim=1)
