"""Static word vectors: wordllama's 256 dimensions, which ship inside its package."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.files import file_digest

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference


class StaticEncoder(Encoder):
    """The sum of a text's token vectors, at unit length; offline, and always the same."""

    name = "static"
    dimension = 256

    @cached_property
    def _wordllama(self) -> WordLlamaInference:
        before = logging.root.handlers[:], logging.root.level
        import wordllama

        # Its import sets up the root logger, which is the application's business.
        logging.root.handlers[:], level = before
        logging.root.setLevel(level)
        # Given its own folder it finds its files there, and never asks the network.
        own = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=own, disable_download=True)
        model.tokenizer.no_padding()
        return model

    def prepare(self, texts: Sequence[str]) -> None:  # noqa: ARG002
        """Load the library; any text can then be encoded at once."""
        _ = self._wordllama

    def fingerprint(self) -> str:
        """A digest of the file that the vectors ship in."""
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise ConfigurationError("wordllama is not installed; pip install wordllama")
        weights = sorted((Path(spec.origin).parent / "weights").glob("*.safetensors"))
        return " ".join(file_digest(path) for path in weights)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, whatever its case; a text without any token is a row of zeros.

        Pooled over flat tokens, so that a text's vector does not depend on its neighbours.
        """
        lowered = [text.lower() for text in texts]
        tokens = self._wordllama.tokenizer.encode_batch_fast(lowered, add_special_tokens=False)
        counts = np.array([len(encoding) for encoding in tokens], dtype=np.int64)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            flat = np.fromiter(chain.from_iterable(t.ids for t in tokens), np.int64, counts.sum())
            starts = np.cumsum(counts[filled]) - counts[filled]
            sums = np.add.reduceat(self._wordllama.embedding[flat], starts, axis=0)
            vectors[filled] = normalize_rows(sums)
        return vectors
