"""Sentence transformers with a few random weights, which load and train in no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from tests.support.builders import KINDS, SORTS

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PANTRY_WORDS = ["food", *KINDS, *SORTS, "cashew", "<", ":", "a", "drink", "of"]
"""The words of the pantry, and some for descriptions."""


def save_bert(
    folder: Path, words: Sequence[str], size: int = 8, positions: int = 16, scale: float = 0.5
) -> Path:
    """Save a tiny BERT with random weights, as transformers does."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir()
    vocabulary = [*SPECIAL, *words]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in vocabulary))
    BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=size,
        intermediate_size=2 * size,
        max_position_embeddings=positions,
        num_hidden_layers=2,
        num_attention_heads=2,
        initializer_range=scale,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    return folder


def save_pantry_transformer(folder: Path) -> Path:
    """Save a sentence transformer that knows the words of the pantry."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    bare = save_bert(folder.with_name(f"{folder.name}-bare"), PANTRY_WORDS, size=16, positions=64)
    steps = [modules.Transformer(str(bare)), modules.Pooling(16, "mean")]
    SentenceTransformer(modules=steps, device="cpu").save(str(folder))
    return folder
