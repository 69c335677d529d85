"""The text tower: a sentence transformer fine-tuned to encode a query near its parent."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.taxonomy import Concept, Taxonomy

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


MAX_TOKENS = 48
"""Tokens of a text that are read; the rest of a long definition says little about its genus."""
CPU_BLOCK = 32
"""Texts that a CPU encodes at a time: of similar length, so that little is padding."""
GPU_BLOCK = 1024
TOKENIZER_BLOCK = 4096
"""Texts that are tokenized at a time; the tokenizer's own result is many times larger."""

Tokens = Sequence[int]
"""The numbers of a text's tokens."""


def query_text(concept: Concept) -> str:
    """Return the text of a query: its label, and its definition if it has one."""
    return f"{concept.label}: {concept.definition}" if concept.definition else concept.label


def anchor_texts(taxonomy: Taxonomy) -> list[str]:
    """Return the text of each anchor, `label < label of its first parent: definition`.

    Children are left out, because the text must not depend on which children are known.
    """
    labels, definitions = taxonomy.labels, taxonomy.definitions
    offsets, targets = taxonomy.parents_of.offsets.tolist(), taxonomy.parents_of.targets.tolist()
    texts = []
    for index, label in enumerate(labels):
        text = label
        if offsets[index] < offsets[index + 1]:
            text += f" < {labels[targets[offsets[index]]]}"
        texts.append(f"{text}: {definitions[index]}" if index in definitions else text)
    return texts


class TextTower(nn.Module):
    """An encoder of texts as unit vectors, with its own sentence transformer."""

    def __init__(self, transformer: SentenceTransformer) -> None:
        super().__init__()
        replace_embeddings(transformer)
        self.transformer = transformer

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    @property
    def dimension(self) -> int:
        """The size of a vector, D."""
        return self.transformer.get_embedding_dimension() or 0

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens."""
        longest = min(MAX_TOKENS, self.transformer.max_seq_length or MAX_TOKENS)
        tokens: list[Tokens] = []
        for start in range(0, len(texts), TOKENIZER_BLOCK):
            block = list(texts[start : start + TOKENIZER_BLOCK])
            split = self.transformer.tokenizer(block, truncation=True, max_length=longest)
            tokens += [array("i", each) for each in split["input_ids"]]
        return tokens

    def forward(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return one unit vector per text: [B, D]."""
        order = np.argsort([len(each) for each in tokens], kind="stable")
        size = CPU_BLOCK if self.device.type == "cpu" else GPU_BLOCK
        # One tensor: many small ones would lie among the freed memory of the layers, and hold it.
        vectors = torch.empty(len(tokens), self.dimension, device=self.device)
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            block = self._encode_block([tokens[row] for row in rows.tolist()])
            vectors[torch.from_numpy(rows).to(self.device)] = block
        return vectors

    def _encode_block(self, tokens: Sequence[Tokens]) -> Tensor:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(tokens):
            ids[row, : len(each)], mask[row, : len(each)] = each, 1
        ids[mask == 0] = self.transformer.tokenizer.pad_token_id or 0
        inputs = {
            "input_ids": torch.from_numpy(ids).to(self.device),
            "attention_mask": torch.from_numpy(mask).to(self.device),
        }
        vectors: Tensor = self.transformer(inputs)["sentence_embedding"]
        return F.normalize(vectors.float(), dim=1)

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return one unit vector per text, without gradients and dropout: [N, D]."""
        return self.encode_tokens(self.tokenize(texts))

    @torch.no_grad()
    def encode_tokens(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return one unit vector per tokenized text, encoding equal texts once: [N, D]."""
        was_training = self.training
        self.eval()
        distinct: dict[tuple[int, ...], int] = {}
        rows = [distinct.setdefault(tuple(each), len(distinct)) for each in tokens]
        vectors: Tensor = self(list(distinct))
        self.train(was_training)
        return vectors[torch.tensor(rows, dtype=torch.int64, device=self.device)]


def replace_embeddings(transformer: nn.Module) -> None:
    """Replace the embedding layers of a transformer with `TokenEmbedding`; keep their weights."""
    for module in list(transformer.modules()):
        for name, child in list(module.named_children()):
            # Subclasses and rarer options keep torch's own gradient.
            if type(child) is nn.Embedding and not (child.max_norm or child.scale_grad_by_freq):
                setattr(module, name, TokenEmbedding.of(child))


class TokenEmbedding(nn.Embedding):
    """An embedding that, on a CPU, adds only the gradients of used rows to `weight.grad`.

    The result is the same bit for bit, but without a gradient of the whole vocabulary per block.
    """

    @classmethod
    def of(cls, embedding: nn.Embedding) -> TokenEmbedding:
        """Return a layer that shares the weights of another layer."""
        tokens, width = embedding.weight.shape
        made = cls(tokens, width, embedding.padding_idx, _weight=embedding.weight.detach())
        made.weight = embedding.weight
        return made

    def forward(self, input: Tensor) -> Tensor:
        """Return the vectors of tokens: [...] → [..., D]."""
        vectors = super().forward(input)
        if input.device.type != "cpu" or not vectors.requires_grad:
            return vectors
        padding = -1 if self.padding_idx is None else self.padding_idx
        apply: Callable[..., Tensor] = _AddRows.apply
        return apply(vectors.detach(), self.weight, input, padding)


class _AddRows(torch.autograd.Function):
    """The identity, whose backward pass adds the gradients to the rows of the weight."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, tokens: Tensor, padding: int) -> Tensor:
        """Return the vectors unchanged: [..., D] → [..., D]."""
        ctx.weight, ctx.padding = weight, padding
        ctx.save_for_backward(tokens)
        return vectors.view_as(vectors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        """Add the gradient [..., D] to `weight.grad`, and return none."""
        (tokens,) = ctx.saved_tensors
        used, rows = tokens.flatten().unique(return_inverse=True)
        # First the sum of this block, then the total: in the order in which torch would add.
        sums = gradient.new_zeros(len(used), gradient.shape[-1])
        sums.index_add_(0, rows, gradient.reshape(-1, gradient.shape[-1]))
        sums[used == ctx.padding] = 0
        if ctx.weight.grad is None:
            ctx.weight.grad = torch.zeros_like(ctx.weight)
        ctx.weight.grad.index_add_(0, used, sums)
        return None, None, None, None
