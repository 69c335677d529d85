"""An embedding layer whose gradient takes less memory than that of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def replace_embeddings(transformer: nn.Module) -> None:
    """Replace the embedding layers of a transformer by `TokenEmbedding`, with the same weights."""
    for module in list(transformer.modules()):
        for name, child in list(module.named_children()):
            # Subclasses and rarer options keep torch's own gradient.
            if type(child) is nn.Embedding and not (child.max_norm or child.scale_grad_by_freq):
                setattr(module, name, TokenEmbedding.of(child))


class TokenEmbedding(nn.Embedding):
    """Looks up the vectors of tokens, and adds the gradients of the used rows to `weight.grad`.

    For every block of texts, torch would make a gradient of the whole vocabulary, nearly all of it
    zeros, in addition to their sum. The result is the same, bit for bit. Other devices than the CPU
    do it torch's way.
    """

    @classmethod
    def of(cls, embedding: nn.Embedding) -> TokenEmbedding:
        """Return a layer that shares the weights of another."""
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
    """Passes vectors on; its backward pass adds their gradients to the rows of the weight."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, tokens: Tensor, padding: int) -> Tensor:
        """[..., D] → [..., D]."""
        ctx.weight, ctx.padding = weight, padding
        ctx.save_for_backward(tokens)
        return vectors.view_as(vectors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        """[..., D] → nothing: the gradient is added to `weight.grad`."""
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
