"""The text tower, which encodes a query near the description of its parent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.features.encoder import Encoder
from taxoexpan.features.minilm import Embedding
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.taxonomy import Concept, Taxonomy


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


@dataclass(frozen=True)
class TextMaps:
    """Learned linear maps of the vectors of queries and of anchors [D, D]."""

    queries: Tensor
    anchors: Tensor


@dataclass(frozen=True)
class TextTower:
    """The encoder with a sentence model, or its `tuned` copy, and the maps of a taxonomy."""

    encoder: Encoder
    device: torch.device
    tuned: SentenceModel | None = None
    maps: TextMaps | None = None

    @property
    def dimension(self) -> int:
        """The size of a vector, D."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return one unit vector per text, before the maps: [N, D]."""
        if self.tuned is not None:
            return self.tuned.encode(texts)
        return torch.from_numpy(self.encoder.encode(texts)).to(self.device)

    def encode_queries(self, texts: Sequence[str]) -> Tensor:
        """Return the unit vectors of queries, given by `query_text`: [N, D]."""
        vectors = self.encode(texts)
        return vectors if self.maps is None else apply_map(self.maps.queries, vectors)

    def encode_anchors(self, texts: Sequence[str]) -> Tensor:
        """Return the unit vectors of anchors, given by `anchor_texts`: [N, D]."""
        vectors = self.encode(texts)
        return vectors if self.maps is None else apply_map(self.maps.anchors, vectors)

    def to(self, device: torch.device) -> Self:
        """Return the same tower on another device."""
        maps = self.maps
        if maps is not None:
            maps = TextMaps(maps.queries.to(device), maps.anchors.to(device))
        tuned = None if self.tuned is None else self.tuned.to(device)
        return replace(self, device=device, tuned=tuned, maps=maps)

    def weights(self) -> dict[str, Tensor]:
        """Return everything that was learned, by name."""
        learned = {} if self.tuned is None else self.tuned.state_dict()
        weights = {TUNED + name: weight for name, weight in learned.items()}
        if self.maps is not None:
            weights |= {MAPS[0]: self.maps.queries, MAPS[1]: self.maps.anchors}
        return weights

    def with_weights(self, weights: Mapping[str, Tensor]) -> Self:
        """Return the tower with the weights of another tower; refuse other names and shapes."""
        tuned, maps = None, None
        if of_model := {name: each for name, each in weights.items() if name.startswith(TUNED)}:
            tuned = self.encoder.copy_model()
            tuned.load_state_dict({name.removeprefix(TUNED): w for name, w in of_model.items()})
        if others := {*weights} - {*of_model}:
            if others != {*MAPS} or any(weights[name].dtype != torch.float32 for name in MAPS):
                raise ValueError("the maps of the text encoder are not as expected")
            maps = TextMaps(*(weights[name].view(self.dimension, self.dimension) for name in MAPS))
        return replace(self, tuned=tuned, maps=maps).to(self.device)


TUNED, MAPS = "transformer.", ("maps.queries", "maps.anchors")
"""The names of stored weights."""


def apply_map(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Multiply vectors by a map, and scale them to unit length: [N, D] → [N, D]."""
    return F.normalize(vectors @ matrix, dim=1)


PLAIN_EMBEDDINGS = (nn.Embedding, Embedding)


def replace_embeddings(transformer: nn.Module) -> None:
    """Replace the embedding layers of a transformer with `TokenEmbedding`; keep their weights."""
    for module in list(transformer.modules()):
        for name, child in list(module.named_children()):
            # Subclasses and rarer options keep torch's own gradient.
            if not isinstance(child, nn.Embedding) or type(child) not in PLAIN_EMBEDDINGS:
                continue
            if not (child.max_norm or child.scale_grad_by_freq):
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
