"""The encoder `static`: the word vectors of the wordllama package."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from taxoexpan.errors import ConfigurationError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.files import file_digest
from taxoexpan.taxonomy.arrays import Indices

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference


@cache
def load_wordllama() -> WordLlamaInference:
    """Load the word vectors, which take 130 MB, once for all encoders of this process."""
    before = logging.root.handlers[:], logging.root.level
    import wordllama

    # Importing wordllama configures the root logger; restore the settings of the application.
    logging.root.handlers[:], level = before
    logging.root.setLevel(level)
    # With its own folder as the cache, wordllama finds its files and needs no network.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    model.tokenizer.no_padding()
    return model


class StaticEncoder(Encoder):
    """An offline encoder by the sum of the token vectors of a text, at unit length."""

    name = "static"
    dimension = 256

    def prepare(self, texts: Sequence[str]) -> None:  # noqa: ARG002
        """Load the word vectors."""
        load_wordllama()

    def unload(self) -> None:
        """Free the word vectors."""
        load_wordllama.cache_clear()

    def fingerprint(self) -> str:
        """Return a digest of the file with the word vectors."""
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise ConfigurationError("wordllama is not installed", fix="pip install wordllama")
        weights = sorted((Path(spec.origin).parent / "weights").glob("*.safetensors"))
        return " ".join(file_digest(path) for path in weights)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, or zeros, independent of the other texts."""
        lowered = [text.lower() for text in texts]
        wordllama = load_wordllama()
        tokens = wordllama.tokenizer.encode_batch_fast(lowered, add_special_tokens=False)
        counts = np.array([len(encoding) for encoding in tokens], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(t.ids for t in tokens), np.int64, counts.sum())
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            vectors[filled] = normalize_rows(sum_tokens(wordllama.embedding, flat, counts[filled]))
        return vectors


def sum_tokens(embedding: Vectors, tokens: Indices, counts: Indices) -> Vectors:
    """Return the sum of the token vectors of each text; no count is zero.

    A sparse product is much faster than `reduceat`. The first token is added last, so that short
    texts have the same bits.
    """
    starts = np.cumsum(counts) - counts
    offsets = np.append(0, np.cumsum(counts - 1))
    later = np.delete(tokens, starts)
    ones = np.ones(len(later), dtype=np.float32)
    shape = (len(counts), len(embedding))
    sums: Vectors = embedding[tokens[starts]]
    sums += csr_array((ones, later, offsets), shape=shape) @ embedding
    return sums
