"""Vectors of texts by what was learned from a corpus, and by static ones where it says nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.features.corpus.phrases import PhraseMatcher, name_words, tokenize
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.skipgram.skipgram_training import SkipGramVectors
from taxoexpan.features.skipgram.space_mapping import SpaceMapping, fit_space_mapping
from taxoexpan.files import whole_directory

KIND, VERSION = "taxoexpan-skipgram", 1
VOCABULARY, VECTORS = "vocabulary.json", "vectors.safetensors"
OWN = (VOCABULARY, VECTORS)
"""What a directory of vectors holds; one that holds anything else is never replaced."""


class SkipGramEncoder(Encoder):
    """The vector of a name that the corpus knows, or the mean of the vectors of its parts.

    The parts of a text are the names in it and the words between them. A text without any part that
    the corpus knows is a row of zeros, or what the fallback knows of it, carried over a bridge.
    """

    name = "skipgram"

    def __init__(
        self,
        learned: SkipGramVectors,
        fallback: Encoder | None = None,
        bridge: SpaceMapping | None = None,
    ) -> None:
        if fallback and not bridge:
            bridge = fit_space_mapping(learned, fallback)
        self.dimension = learned.vectors.shape[1]
        self.learned, self._fallback, self._bridge = learned, fallback, bridge
        self._index = {word: index for index, word in enumerate(learned.words)}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, whatever its case."""
        parts = [self._parts(text) for text in texts]
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            flat = np.fromiter(chain.from_iterable(parts), np.int64, counts.sum())
            starts = np.cumsum(counts[filled]) - counts[filled]
            vectors[filled] = normalize_rows(np.add.reduceat(self._unit[flat], starts, axis=0))
        unknown = np.flatnonzero(counts == 0)
        if self._fallback and self._bridge and len(unknown):
            vectors[unknown] = self._bridge.cross(
                self._fallback.encode([texts[row] for row in unknown.tolist()])
            )
        return vectors

    def fingerprint(self) -> str:
        """A digest of everything that vectors are made from, but of the fallback only its name."""
        digest = hashlib.sha256(json.dumps(self._vocabulary(), ensure_ascii=False).encode("utf-8"))
        for key, tensor in sorted(self._tensors().items()):
            digest.update(f"{key} {tensor.dtype} {tensor.shape}".encode())
            digest.update(tensor.tobytes())
        return digest.hexdigest()

    def save(self, directory: Path, force: bool = False) -> None:
        """Write a directory of JSON and safetensors, whole or not at all."""
        with whole_directory(directory, OWN, force) as folder:
            save_file(self._tensors(), folder / VECTORS)
            vocabulary = {
                "kind": KIND,
                "version": VERSION,
                "fingerprint": self.fingerprint(),
                **self._vocabulary(),
            }
            content = json.dumps(vocabulary, ensure_ascii=False, indent=1)
            (folder / VOCABULARY).write_text(content, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path, fallback: Encoder | None = None) -> SkipGramEncoder:
        """Read what `save` wrote; the fallback must be given again if there was one."""
        vocabulary = _read_vocabulary(directory)
        asked, given = vocabulary.get("fallback"), fallback.name if fallback else None
        if asked != given:
            message = f"{directory}: made with the fallback {asked}, and loaded with {given}"
            raise ConfigurationError(f"{message}; give the same")
        try:
            tensors = load_file(directory / VECTORS)
            learned = SkipGramVectors(
                tuple(vocabulary["words"]),
                frozenset(vocabulary["names"]),
                tensors["counts"],
                tensors["vectors"],
            )
            bridge = SpaceMapping(tensors["matrix"], tensors["offset"]) if fallback else None
            encoder = cls(learned, fallback, bridge)
            whole = encoder.fingerprint() == vocabulary["fingerprint"]
        except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
            raise _damaged(directory, str(error)) from None
        if not whole:
            raise _damaged(directory, "the fingerprint is not that of the vectors")
        return encoder

    @cached_property
    def _unit(self) -> Vectors:
        return normalize_rows(self.learned.vectors)

    @cached_property
    def _phrases(self) -> PhraseMatcher:
        return PhraseMatcher(name.replace("_", " ") for name in sorted(self.learned.names))

    def _parts(self, text: str) -> list[int]:
        """The indices of the parts that are known."""
        known = []
        for part in self._phrases.join(tokenize(text)):
            if part in self._index:
                known.append(self._index[part])
            elif not part.isalnum():
                # Words in a text may be joined by a hyphen that the corpus does not have.
                words = name_words(part)
                known += [self._index[word] for word in words if word in self._index]
        return known

    def _vocabulary(self) -> dict[str, Any]:
        return {
            "fallback": self._fallback.name if self._fallback else None,
            "names": sorted(self.learned.names),
            "words": list(self.learned.words),
        }

    def _tensors(self) -> dict[str, NDArray[Any]]:
        tensors: dict[str, NDArray[Any]] = {
            "counts": self.learned.counts,
            "vectors": self.learned.vectors,
        }
        if self._bridge:
            tensors |= {"matrix": self._bridge.matrix, "offset": self._bridge.offset}
        return {key: np.ascontiguousarray(tensor) for key, tensor in tensors.items()}


def _read_vocabulary(directory: Path) -> dict[str, Any]:
    try:
        vocabulary = json.loads((directory / VOCABULARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"{directory}: no {VOCABULARY} here"
        mend = "restore the model, and name its features in the order of the training"
        raise ModelError(f"{message}; {mend}") from None
    except (ValueError, OSError) as error:
        raise _damaged(directory, str(error)) from None
    if not isinstance(vocabulary, dict) or vocabulary.get("kind") != KIND:
        raise ModelError(f"{directory}: {VOCABULARY} is not one of vectors learned from a corpus")
    if vocabulary.get("version") != VERSION:
        raise ModelError(
            f"{directory}: vectors of version {vocabulary.get('version')}, and this taxoexpan "
            f"reads version {VERSION}; learn them again, or use the taxoexpan that wrote them"
        )
    return vocabulary


def _damaged(directory: Path, why: str) -> ModelError:
    return ModelError(f"{directory}: the vectors are damaged ({why}); learn them again")
