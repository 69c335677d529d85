"""The encoder `skipgram:CORPUS`, which learns the vectors of names from a text corpus."""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.cache import cache_folder
from taxoexpan.features.corpus.documents import corpus_files, read_documents
from taxoexpan.features.corpus.phrases import PhraseMatcher, name_words, tokenize
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.skipgram_training import (
    DIMENSION,
    SkipGramVectors,
    SpaceMapping,
    check_gensim,
    fit_space_mapping,
    train_skipgram,
)
from taxoexpan.features.static import StaticEncoder
from taxoexpan.files import whole_directory
from taxoexpan.files.inputs import parse_json, read_regular

VERSION = 1
VOCABULARY_FILE, VECTORS_FILE = "vocabulary.json", "vectors.safetensors"
OWN_FILES = (VOCABULARY_FILE, VECTORS_FILE)
"""The files of a saved encoder; a directory with any other file is never replaced."""


class SkipGramEncoder(Encoder):
    """An encoder by known names and words, with a mapped fallback for unknown texts."""

    name = "skipgram"

    def __init__(
        self,
        learned: SkipGramVectors,
        fallback: Encoder | None = None,
        mapping: SpaceMapping | None = None,
    ) -> None:
        if fallback and not mapping:
            mapping = fit_space_mapping(learned, fallback)
        self.dimension = learned.vectors.shape[1]
        self.learned, self._fallback, self._mapping = learned, fallback, mapping
        self._index = {word: index for index, word in enumerate(learned.words)}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; upper and lower case are the same."""
        words = [self._known_words(text) for text in texts]
        counts = np.array([len(known) for known in words], dtype=np.int64)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            flat = np.fromiter(chain.from_iterable(words), np.int64, counts.sum())
            starts = np.cumsum(counts[filled]) - counts[filled]
            vectors[filled] = normalize_rows(np.add.reduceat(self._unit[flat], starts, axis=0))
        unknown = np.flatnonzero(counts == 0)
        if self._fallback and self._mapping and len(unknown):
            fallback = self._fallback.encode([texts[row] for row in unknown.tolist()])
            vectors[unknown] = self._mapping.apply(fallback)
        return vectors

    def fingerprint(self) -> str:
        """Return a digest of all data except the fallback, of which only the name counts."""
        digest = hashlib.sha256(json.dumps(self._vocabulary(), ensure_ascii=False).encode("utf-8"))
        for key, tensor in sorted(self._tensors().items()):
            digest.update(f"{key} {tensor.dtype} {tensor.shape}".encode())
            digest.update(tensor.tobytes())
        return digest.hexdigest()

    def save(self, directory: Path) -> None:
        """Write a directory of JSON and safetensors, completely or not at all."""
        directory.parent.mkdir(parents=True, exist_ok=True)
        with whole_directory(directory, OWN_FILES, force=True) as folder:
            save_file(self._tensors(), folder / VECTORS_FILE)
            vocabulary = {
                "kind": "taxoexpan-skipgram",
                "version": VERSION,
                "fingerprint": self.fingerprint(),
                **self._vocabulary(),
            }
            content = json.dumps(vocabulary, ensure_ascii=False, indent=1)
            (folder / VOCABULARY_FILE).write_text(content, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path, fallback: Encoder | None = None) -> SkipGramEncoder:
        """Read a saved encoder; an encoder with a fallback needs the same fallback again."""
        try:
            vocabulary = parse_json(read_regular(directory / VOCABULARY_FILE))
            if vocabulary["version"] != VERSION:
                raise ValueError(f"they have version {vocabulary['version']}, not {VERSION}")
            tensors, words = load_file(directory / VECTORS_FILE), tuple(vocabulary["words"])
            _check_tensors(tensors, len(words), fallback)
            names = frozenset(vocabulary["names"])
            learned = SkipGramVectors(words, names, tensors["counts"], tensors["vectors"])
            mapping = SpaceMapping(tensors["matrix"], tensors["offset"]) if fallback else None
            encoder = cls(learned, fallback, mapping)
            if encoder.fingerprint() != vocabulary["fingerprint"]:
                raise ValueError("the fingerprint does not match")
        except (LookupError, TypeError, ValueError, OSError, SafetensorError) as error:
            message = f"{directory}: the vectors are damaged ({error})"
            raise ModelError(message, fix="restore the model, or train it again") from None
        return encoder

    @cached_property
    def _unit(self) -> Vectors:
        return normalize_rows(self.learned.vectors)

    @cached_property
    def _matcher(self) -> PhraseMatcher:
        return PhraseMatcher(name.replace("_", " ") for name in sorted(self.learned.names))

    def _known_words(self, text: str) -> list[int]:
        """Return the indices of the known names and words in a text."""
        known = []
        for token in self._matcher.join(tokenize(text)):
            if token in self._index:
                known.append(self._index[token])
            elif not token.isalnum():
                # The text may join words by a hyphen that the corpus writes apart.
                known += [self._index[word] for word in name_words(token) if word in self._index]
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
        if self._mapping:
            tensors |= {"matrix": self._mapping.matrix, "offset": self._mapping.offset}
        return {key: np.ascontiguousarray(tensor) for key, tensor in tensors.items()}


def _check_tensors(
    tensors: Mapping[str, NDArray[Any]], words: int, fallback: Encoder | None
) -> None:
    """Refuse vectors that contain NaN or do not fit the words."""
    size = tensors["vectors"].shape[-1]
    expected = {"counts": (words,), "vectors": (words, size)}
    if fallback is not None:
        expected |= {"matrix": (fallback.dimension, size), "offset": (size,)}
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise ValueError("wrong shape or fallback")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("NaN")


class CorpusEncoder(Encoder):
    """An encoder with skip-gram vectors from `learn`, the disk cache, or the directory `saved`.

    Rare names are the mean of their words. Texts without known words use mapped static vectors.
    """

    dimension = DIMENSION

    def __init__(self, corpus: Path, saved: Path | None = None) -> None:
        self.name = f"skipgram:{corpus}"
        self._corpus = corpus
        self._progress = False
        self._trained: SkipGramEncoder | None = None
        if saved is not None:
            self._trained = SkipGramEncoder.load(saved, StaticEncoder())
        else:
            check_gensim()
            next(read_documents(corpus))  # reports an unreadable corpus before any work is done

    def show_progress(self, shown: bool) -> None:
        """Show or hide the progress of the training."""
        self._progress = shown

    def learn(self, names: Collection[str]) -> None:
        """Learn the vectors of these names and of all words in the same documents."""
        names = sorted(set(names))
        folder = self._cache_folder(names)
        if folder is not None and folder.is_dir():
            with suppress(ModelError):  # damaged vectors are trained again
                self._trained = SkipGramEncoder.load(folder, StaticEncoder())
                return
        learned = train_skipgram(self._corpus, names, progress=self._progress)
        self._trained = SkipGramEncoder(learned, StaticEncoder())
        if folder is not None:
            try:
                folder.parents[1].mkdir(mode=0o700, parents=True, exist_ok=True)
                self._trained.save(folder)
            except (OSError, TaxoExpanError) as error:
                message = f"the trained vectors are not cached ({error})"
                warnings.warn(f"{message}; set TAXOEXPAN_CACHE to another folder", stacklevel=3)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; upper and lower case are the same."""
        return self._encoder.encode(texts)

    def fingerprint(self) -> str:
        """Return a digest of the trained vectors and of the static vectors."""
        return f"{self._encoder.fingerprint()[:16]} {StaticEncoder().fingerprint()}"

    def save(self, folder: Path) -> None:
        """Save the trained vectors in a new directory."""
        self._encoder.save(folder)

    @property
    def _encoder(self) -> SkipGramEncoder:
        if self._trained is None:
            raise ModelError(
                f"{self.name} is not trained yet", fix="call learn with the names first"
            )
        return self._trained

    def _cache_folder(self, names: Sequence[str]) -> Path | None:
        """Return the cache directory for the vectors of this corpus and these names."""
        folder = cache_folder()
        if folder is None:
            return None
        digest = hashlib.sha256()
        for part in (names, version("gensim"), platform.machine(), StaticEncoder().fingerprint()):
            digest.update(json.dumps(part).encode())
        for path in corpus_files(self._corpus):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return folder / "skipgram" / digest.hexdigest()[:32]
