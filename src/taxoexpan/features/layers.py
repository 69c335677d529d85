"""The layers that the sentence models of the package share: a transformer with layer norms last."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from taxoexpan.features.kept_states import KeptStates
from taxoexpan.features.sentence_model import CPU_BLOCK, GPU_BLOCK, SentenceModel, Tokens, pad
from taxoexpan.progress import Progress


@dataclass(frozen=True)
class Size:
    """The size of a model with V tokens, D dimensions, and the inner width I of its MLPs."""

    tokens: int
    dimension: int
    inner: int
    layers: int
    heads: int
    epsilon: float
    """What the layer norms add to a variance."""


class Transformer(SentenceModel):
    """Embedded tokens, layers, and the mean over the tokens.

    The names of its parts are the keys of the stored weights.
    """

    dropout: float
    """The fraction of hidden values that is dropped in training."""
    special_tokens: tuple[str, ...] = ()
    """The tokens that stand for no part of a text."""

    def __init__(self, size: Size, tokenizer: Tokenizer | BertWordPieceTokenizer) -> None:
        super().__init__()
        self.size = size
        self.dimension = size.dimension
        self.tokenizer = tokenizer
        self.tokens = LoadedEmbedding(size.tokens, size.dimension)
        self.norm = nn.LayerNorm(size.dimension, eps=size.epsilon)
        self.layers = nn.ModuleList(self.make_layer() for _ in range(size.layers))
        self.frozen_layers = 0
        """How many of the lower layers a fine-tuning leaves as they are."""
        self.kept = KeptStates()
        """The states after these layers, of the texts given to `keep_states`."""

    def make_layer(self) -> Layer:
        """Return a layer without weights."""
        return Layer(self.size, self.dropout)

    @property
    def special(self) -> frozenset[int | None]:
        """The numbers of the tokens that stand for no part of a text."""
        return frozenset(map(self.tokenizer.token_to_id, self.special_tokens))

    def token_ids(self, texts: list[str]) -> Iterable[Sequence[int]]:
        """Yield the token numbers of each text, as many as the tokenizer leaves."""
        return (encoding.ids for encoding in self.tokenizer.encode_batch(texts))

    def freeze_lower_layers(self, tuned_layers: int) -> list[nn.Parameter]:
        """Freeze the embeddings and all but the upper layers, and return the other weights."""
        frozen_layers = max(0, self.size.layers - tuned_layers)
        if frozen_layers != self.frozen_layers:
            self.drop_states()
        self.frozen_layers = frozen_layers
        self.requires_grad_(False)
        self.layers[frozen_layers:].requires_grad_(True)
        return super().freeze_lower_layers(tuned_layers)

    @torch.no_grad()
    def keep_states(self, tokens: Sequence[Tokens]) -> None:
        """Run the frozen layers once per text, from the shortest text on, while there is room."""
        missing = self.kept.missing(tokens) if self.frozen_layers else []
        size = CPU_BLOCK if self.device.type == "cpu" else GPU_BLOCK
        with Progress("encoding", len(missing), "texts", shown=False) as bar:
            for start in range(0, len(missing), size):
                block = missing[start : start + size]
                if not self.kept.add(block, self._frozen_states(block)):
                    break
                bar.update(len(block))

    def drop_states(self) -> None:
        """Free the memory of the kept states."""
        self.kept = KeptStates()

    def encode_block(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return one unit vector per text [B, D], from its kept state if there is one."""
        found = [self.kept.get(each) for each in tokens] if len(self.kept) else []
        if not any(each is not None for each in found):
            return super().encode_block(tokens)
        unknown = [row for row, each in enumerate(found) if each is None]
        if unknown:
            computed = self._frozen_states([tokens[row] for row in unknown])
            for row, state in zip(unknown, computed, strict=True):
                found[row] = state[: len(tokens[row])]
        states = [each for each in found if each is not None]
        mask = pad(tokens)[1].to(self.device)
        hidden = pad_sequence(states, batch_first=True).to(self.device)
        return self._run_other_layers(hidden, mask, self.attention_bias(mask))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of token numbers [B, L], of which `mask` [B, L] are valid: [B, D]."""
        bias = self.attention_bias(mask)
        hidden = self._run_frozen_layers(ids, bias)
        return self._run_other_layers(hidden, mask, bias)

    def _frozen_states(self, tokens: Sequence[Tokens]) -> Tensor:
        """Return the states of a block of texts after the frozen layers: [B, L, D]."""
        ids, mask = (each.to(self.device) for each in pad(tokens))
        return self._run_frozen_layers(ids, self.attention_bias(mask))

    def _run_frozen_layers(self, ids: Tensor, bias: Tensor | None) -> Tensor:
        """Embed tokens and run the frozen layers: [B, L] → [B, L, D]."""
        hidden = F.dropout(self.norm(self.embed(ids)), self.dropout, self.training)
        for layer in self.layers[: self.frozen_layers]:
            hidden = layer(hidden, bias)
        return hidden

    def _run_other_layers(self, hidden: Tensor, mask: Tensor, bias: Tensor | None) -> Tensor:
        """Run the layers that are not frozen, and return unit vectors: [B, L, D] → [B, D]."""
        for layer in self.layers[self.frozen_layers :]:
            hidden = layer(hidden, bias)
        weights = mask.to(hidden.dtype)[:, :, None]
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)

    @abstractmethod
    def embed(self, ids: Tensor) -> Tensor:
        """Return the vectors of tokens at their positions: [B, L] → [B, L, D]."""

    def attention_bias(self, mask: Tensor) -> Tensor | None:
        """Return which tokens are attended to, or what is added to the attention of each head.

        The shape fits [B, H, L, L]; `mask` [B, L] marks the valid tokens.
        """
        # Attention without a mask is faster, and most blocks have texts of one length. Only a CPU
        # knows at once whether all are valid.
        is_full = mask.device.type == "cpu" and bool(mask.all())
        return None if is_full else mask[:, None, None]


class _WithoutInitialization:
    """A module whose weights are loaded; drawing random ones first would take longer."""

    def reset_parameters(self) -> None:
        """Leave the weights as they are."""


class LoadedLinear(_WithoutInitialization, nn.Linear):
    """A linear layer whose weights are loaded."""


class LoadedEmbedding(_WithoutInitialization, nn.Embedding):
    """An embedding whose weights are loaded."""


class Layer(nn.Module):
    """Self-attention, then an MLP, each with a residual connection and a layer norm after it.

    The names of its parts are the keys of the stored weights: `attend` projects to queries, keys
    and values, `join` mixes the heads, `attended` is the layer norm after the attention, `widen`
    and `narrow` are the MLP, and `transformed` is the layer norm after it.
    """

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.heads = size.heads
        self.dropout = dropout
        self.attend = LoadedLinear(size.dimension, 3 * size.dimension)
        self.join = LoadedLinear(size.dimension, size.dimension)
        self.attended = nn.LayerNorm(size.dimension, eps=size.epsilon)
        self.widen = LoadedLinear(size.dimension, size.inner)
        self.narrow = LoadedLinear(size.inner, size.dimension)
        self.transformed = nn.LayerNorm(size.dimension, eps=size.epsilon)

    def forward(self, hidden: Tensor, bias: Tensor | None) -> Tensor:
        """Transform hidden states [B, L, D]; `bias` is that of `Transformer.attention_bias`."""
        query, key, value = self.project(hidden)
        rate = self.dropout if self.training else 0.0  # this function has no `training`
        mixed = F.scaled_dot_product_attention(query, key, value, bias, rate)
        joined = self.join(mixed.transpose(1, 2).flatten(2))
        hidden = self.attended(hidden + F.dropout(joined, self.dropout, self.training))
        narrowed = self.narrow(self.activate(self.widen(hidden)))
        output: Tensor = self.transformed(hidden + F.dropout(narrowed, self.dropout, self.training))
        return output

    def project(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values: [B, L, D] → [B, H, L, D / H] each."""
        projected = self.attend(hidden).unflatten(2, (3, self.heads, -1))
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        return query, key, value

    def activate(self, widened: Tensor) -> Tensor:
        """Apply the activation function of the MLP: [B, L, I] → [B, L, I]."""
        return F.gelu(widened)
