"""A sentence transformer of the library sentence-transformers as a `SentenceModel`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.nn import functional as F

from taxoexpan.features.sentence_model import MAX_TOKENS, SentenceModel, Tokens

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TOKENIZER_BLOCK = 4096
"""Texts that are tokenized at a time; the tokenizer's own result is many times larger."""


class LoadedTransformer(SentenceModel):
    """The modules of a sentence transformer, under the same names, and its tokenizer."""

    def __init__(self, transformer: SentenceTransformer) -> None:
        super().__init__()
        self.dimension = transformer.get_embedding_dimension() or 0
        self.tokenizer = transformer.tokenizer
        self.longest = min(MAX_TOKENS, transformer.max_seq_length or MAX_TOKENS)
        for name, module in transformer.named_children():
            self.add_module(name, module)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into at most `MAX_TOKENS` tokens each."""
        tokens: list[Tokens] = []
        for start in range(0, len(texts), TOKENIZER_BLOCK):
            block = list(texts[start : start + TOKENIZER_BLOCK])
            split = self.tokenizer(block, truncation=True, max_length=self.longest)
            tokens += [array("i", each) for each in split["input_ids"]]
        return tokens

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        padded = ids.masked_fill(~mask, self.tokenizer.pad_token_id or 0)
        features: Any = {"input_ids": padded, "attention_mask": mask.to(ids.dtype)}
        for module in self.children():
            features = module(features)
        return F.normalize(features["sentence_embedding"].float(), dim=1)
