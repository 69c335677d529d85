"""Vectors learned from a corpus: word2vec's skip-gram model, with every name as one word.

As in Section 5.1.1 of the paper: the documents that mention a concept, names joined by `_`, and 250
dimensions. What the paper leaves open is as in Google's word2vec, which it used.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from taxoexpan.corpus import Phrases, in_blocks, texts_of, token_of, tokens_of, words_of
from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.concepts import Encoder
from taxoexpan.features.static import Vectors, normalised
from taxoexpan.files import whole_directory

KIND, VERSION = "taxoexpan-skipgram", 1
VOCABULARY, VECTORS = "vocabulary.json", "vectors.safetensors"
OWN = (VOCABULARY, VECTORS)
"""What a directory of vectors holds; one that holds anything else is never replaced."""

LONGEST_SENTENCE = 1_000
"""Words that word2vec takes at a time; a longer document is cut."""

RIDGES = tuple(10.0**power for power in range(-3, 4))
"""How strongly a bridge may be held back."""

LEAST_PAIRS = 10
"""Names that must have both vectors for a bridge to be built on them."""

_FALSE_ALARM = "Exception ignored in: 'gensim.models.word2vec_inner.our_dot"


@dataclass(frozen=True)
class SkipGram:
    """What was learned: words, the most frequent first, each with a vector [V, D] and a count.

    `names` are those words that are names.
    """

    words: tuple[str, ...]
    names: frozenset[str]
    counts: NDArray[np.int64]
    vectors: Vectors


@dataclass(frozen=True)
class Bridge:
    """y = x M + b: from the space of one encoder into that of another."""

    matrix: Vectors
    offset: Vectors

    def cross(self, vectors: Vectors) -> Vectors:
        """The vectors at unit length in the other space; a row of zeros stays one."""
        known = vectors.any(axis=1, keepdims=True)
        return normalised((vectors @ self.matrix + self.offset) * known)


def train_skipgram(
    path: Path,
    names: Iterable[str],
    *,
    dimension: int = 250,
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    min_count: int = 5,
    seed: int = 0,
    workers: int = 1,
) -> SkipGram:
    """Learn vectors of all words and names that a corpus holds at least `min_count` times.

    With one worker the same corpus, names and seed give the same vectors on the same machine. With
    more the training takes less time, but they write over each other's steps, and every run ends a
    little elsewhere. The corpus is read on all cores in either case.
    """
    refuse_training()
    _refuse_below_one(
        dimension=dimension,
        window=window,
        negative=negative,
        epochs=epochs,
        min_count=min_count,
        workers=workers,
    )
    from gensim.models.word2vec import LineSentence, Word2Vec

    names = list(names)
    model = Word2Vec(
        sg=1,
        vector_size=dimension,
        window=window,
        negative=negative,
        epochs=epochs,
        min_count=min_count,
        seed=seed,
        workers=workers,
        hashfxn=_stable_hash,
    )
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "joined.txt"
        _write_joined(path, names, joined)
        sentences = LineSentence(str(joined))
        model.build_vocab(sentences)
        if not len(model.wv):
            message = f"no word is there {min_count} times in documents that mention a concept"
            raise FormatError(path, f"{message}; give a larger corpus, or a smaller min_count")
        with without_false_alarms():
            model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    words = tuple(model.wv.index_to_key)
    return SkipGram(
        words,
        frozenset(map(token_of, names)) & frozenset(words),
        np.array([model.wv.get_vecattr(word, "count") for word in words], dtype=np.int64),
        np.asarray(model.wv.vectors, dtype=np.float32),
    )


def refuse_training() -> None:
    """Refuse, before any work is done, to train without gensim."""
    try:
        import gensim.models.word2vec  # noqa: F401
    except ImportError as error:
        message = f"gensim, which learns vectors from a corpus, cannot be used here ({error})"
        raise ConfigurationError(f"{message}; pip install taxoexpan[corpus]") from None


class SkipGramEncoder:
    """The vector of a name that the corpus knows, or the mean of the vectors of its parts.

    The parts of a text are the names in it and the words between them. A text without any part that
    the corpus knows is a row of zeros, or what the fallback knows of it, carried over a bridge.
    """

    name = "skipgram"

    def __init__(
        self, learned: SkipGram, fallback: Encoder | None = None, bridge: Bridge | None = None
    ) -> None:
        if fallback and not bridge:
            bridge = build_bridge(learned, fallback)
        self.dimension = learned.vectors.shape[1]
        self.learned, self._fallback, self._bridge = learned, fallback, bridge
        self._index = {word: index for index, word in enumerate(learned.words)}

    def prepare(self, texts: Sequence[str]) -> None:
        """Nothing: all that was learned is at hand."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, whatever its case."""
        parts = [self._parts(text) for text in texts]
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            flat = np.fromiter(chain.from_iterable(parts), np.int64, counts.sum())
            starts = np.cumsum(counts[filled]) - counts[filled]
            vectors[filled] = normalised(np.add.reduceat(self._unit[flat], starts, axis=0))
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
            learned = SkipGram(
                tuple(vocabulary["words"]),
                frozenset(vocabulary["names"]),
                tensors["counts"],
                tensors["vectors"],
            )
            bridge = Bridge(tensors["matrix"], tensors["offset"]) if fallback else None
            encoder = cls(learned, fallback, bridge)
            whole = encoder.fingerprint() == vocabulary["fingerprint"]
        except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
            raise _damaged(directory, str(error)) from None
        if not whole:
            raise _damaged(directory, "the fingerprint is not that of the vectors")
        return encoder

    @cached_property
    def _unit(self) -> Vectors:
        return normalised(self.learned.vectors)

    @cached_property
    def _phrases(self) -> Phrases:
        return Phrases(name.replace("_", " ") for name in sorted(self.learned.names))

    def _parts(self, text: str) -> list[int]:
        """The indices of the parts that are known."""
        known = []
        for part in self._phrases.join(tokens_of(text)):
            if part in self._index:
                known.append(self._index[part])
            elif not part.isalnum():
                # Words in a text may be joined by a hyphen that the corpus does not have.
                words = words_of(part)
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


def build_bridge(learned: SkipGram, encoder: Encoder) -> Bridge:
    """Ridge regression on the names that both know, from the encoder's vectors to the learned ones.

    How strongly it is held back is chosen by the error on each name when it is left out. What is
    held back lies too near the mean of all names, so it is spread as far as the real vectors are.
    """
    rows = [row for row, word in enumerate(learned.words) if word in learned.names]
    sources = encoder.encode([learned.words[row].replace("_", " ") for row in rows])
    known = sources.any(axis=1)
    if known.sum() < LEAST_PAIRS:
        message = f"only {known.sum()} names have a vector from the corpus and one of the fallback"
        raise ModelError(f"{message}; give a larger corpus, or no fallback")
    x = sources[known].astype(np.float64)
    y = normalised(learned.vectors[rows])[known].astype(np.float64)
    middle_x, middle_y = x.mean(axis=0), y.mean(axis=0)
    matrix = _ridge(x - middle_x, y - middle_y)
    spread = np.linalg.norm((x - middle_x) @ matrix)
    if spread > 0:
        matrix *= np.linalg.norm(y - middle_y) / spread
    offset = middle_y - middle_x @ matrix
    return Bridge(matrix.astype(np.float32), offset.astype(np.float32))


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(xᵀx + λ)⁻¹ xᵀy for the λ with the least error on rows that are left out, of centred x and y.

    A row's error without it is its error with it, divided by 1 - h, h being its own leverage.
    """
    values, basis = np.linalg.eigh(x.T @ x)
    turned = x @ basis
    moments = turned.T @ y
    errors = []
    for ridge in RIDGES:
        held = 1 / (np.maximum(values, 0) + ridge)
        leverage = turned**2 @ held + 1 / len(x)
        residuals = y - turned @ (held[:, None] * moments)
        errors.append(np.square(residuals / np.maximum(1 - leverage, 1e-6)[:, None]).sum())
    best = RIDGES[int(np.argmin(errors))]
    return np.asarray(basis @ (moments / (np.maximum(values, 0) + best)[:, None]))


def _write_joined(path: Path, names: Sequence[str], joined: Path) -> None:
    """Write the documents that mention a name, a line each, every name as one word."""
    phrases, mentioned = Phrases(names), frozenset(map(token_of, names))

    def join(texts: list[str]) -> str:
        documents = (phrases.join(tokens_of(text)) for text in texts)
        kept = (words for words in documents if not mentioned.isdisjoint(words))
        return "".join(f"{' '.join(line)}\n" for words in kept for line in _cut(words))

    with joined.open("w", encoding="utf-8") as file:
        for lines in in_blocks(join, texts_of(path)):
            try:
                file.write(lines)
            except OSError as error:
                raise FormatError(joined, f"cannot be written: {error.strerror}") from None


def _cut(words: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(words), LONGEST_SENTENCE):
        yield words[start : start + LONGEST_SENTENCE]


def _stable_hash(word: str) -> int:
    """Python's own hash of a word is another one in every process."""
    return crc32(word.encode("utf-8"))


def _refuse_below_one(**settings: int) -> None:
    for name, value in settings.items():
        if value < 1:
            raise ConfigurationError(f"{name} is {value}; it must be at least 1")


@contextmanager
def without_false_alarms() -> Iterator[None]:
    """Keep back what is written to the standard error, and pass on at the end what is true.

    gensim 4.4 takes a product of two vectors that is exactly -1 for an error, lets Python say so,
    and goes on; Python says it past `sys.unraisablehook`.
    """
    told = StringIO()
    try:
        with redirect_stderr(told):
            yield
    finally:
        lines = told.getvalue().splitlines(keepends=True)
        sys.stderr.writelines(line for line in lines if not line.startswith(_FALSE_ALARM))


def _read_vocabulary(directory: Path) -> dict[str, Any]:
    try:
        vocabulary = json.loads((directory / VOCABULARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"{directory}: no {VOCABULARY} here"
        raise ModelError(f"{message}; these are no vectors learned from a corpus") from None
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
