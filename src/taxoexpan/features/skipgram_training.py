"""Training of word2vec's skip-gram model, with the settings of Section 5.1.1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.phrases import PhraseMatcher, name_token, tokenize
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.files import temporary_folder
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress
from taxoexpan.taxonomy.arrays import Floats

RIDGE_PENALTIES = tuple(10.0**power for power in range(-3, 4))

MIN_NAMES = 10
"""The number of names with a vector in both spaces that a mapping needs."""

DIMENSION = 250

MAX_SENTENCE_WORDS = 1_000
"""The longest sentence that word2vec accepts; longer documents are split."""

MIN_COUNT = 5
"""The number of times that a word occurs, at least."""


@dataclass(frozen=True)
class SkipGramVectors:
    """Learned words, the most frequent first, with their vectors [V, D] and counts."""

    words: tuple[str, ...]
    names: frozenset[str]
    counts: NDArray[np.int64]
    vectors: Vectors


def train_skipgram(
    path: Path,
    names: Iterable[str],
    *,
    dimension: int = DIMENSION,
    epochs: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> SkipGramVectors:
    """Learn, reproducibly, the vectors of all words and names with `MIN_COUNT` occurrences."""
    check_gensim()
    from gensim.models.word2vec import LineSentence, Word2Vec

    names = list(names)
    model = Word2Vec(
        sg=1,
        vector_size=dimension,
        epochs=epochs,
        min_count=MIN_COUNT,
        seed=seed,
        workers=1,
        hashfxn=lambda word: crc32(word.encode()),  # unlike Python's, the same in every process
    )
    with temporary_folder() as folder:
        training_file = folder / "corpus.txt"
        with training_file.open("w", encoding="utf-8") as file:
            file.writelines(join_names(path, names))
        sentences = LineSentence(str(training_file))
        model.build_vocab(sentences)
        if not len(model.wv):
            message = f"no word occurs {MIN_COUNT} times in documents that mention a concept"
            raise FormatError(path, message, fix="use a larger corpus")
        total = epochs * model.corpus_count
        with Progress("learning words", total, "texts", shown=progress) as bar:
            counted = _CountedSentences(sentences, bar)
            model.train(counted, total_examples=model.corpus_count, epochs=epochs)
    return _learned_vectors(model, names)


def _learned_vectors(model: Any, names: Sequence[str]) -> SkipGramVectors:
    """Return the vectors of a trained word2vec model."""
    words = tuple(model.wv.index_to_key)
    # The mean of all words distinguishes none of them; parents are found better without it.
    vectors = model.wv.vectors - model.wv.vectors.mean(axis=0)
    return SkipGramVectors(
        words,
        frozenset(map(name_token, names)) & frozenset(words),
        np.array([model.wv.get_vecattr(word, "count") for word in words], dtype=np.int64),
        np.asarray(vectors, dtype=np.float32),
    )


class _CountedSentences:
    """Sentences that can be iterated several times and advance a progress bar."""

    def __init__(self, sentences: Iterable[list[str]], bar: Progress) -> None:
        self._sentences, self._bar = sentences, bar

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self._sentences:
            self._bar.update()
            yield sentence


def check_gensim() -> None:
    """Raise an error, before any work is done, if gensim cannot be imported."""
    try:
        import gensim.models.word2vec  # noqa: F401
    except ImportError as error:
        message = f"gensim is needed to learn vectors from a corpus, but cannot be used ({error})"
        raise ConfigurationError(message, fix="pip install 'taxoexpan[corpus]'") from None


def join_names(path: Path, names: Sequence[str], workers: int | None = None) -> Iterator[str]:
    """Yield the documents that mention a name, in blocks of lines, with each name as one word."""
    matcher, name_tokens = PhraseMatcher(names), frozenset(map(name_token, names))

    def join(texts: list[str]) -> str:
        documents = (matcher.join(tokenize(text)) for text in texts)
        kept = (words for words in documents if not name_tokens.isdisjoint(words))
        size = MAX_SENTENCE_WORDS
        lines = (words[i : i + size] for words in kept for i in range(0, len(words), size))
        return "".join(f"{' '.join(line)}\n" for line in lines)

    return map_blocks(join, read_documents(path), workers)


@dataclass(frozen=True)
class SpaceMapping:
    """The affine map y = x M + b from the space of one encoder to another."""

    matrix: Vectors
    offset: Vectors

    def apply(self, vectors: Vectors) -> Vectors:
        """Return the mapped vectors at unit length; rows of zeros stay rows of zeros."""
        known = vectors.any(axis=1, keepdims=True)
        return normalize_rows((vectors @ self.matrix + self.offset) * known)


def fit_space_mapping(learned: SkipGramVectors, encoder: Encoder) -> SpaceMapping:
    """Fit a ridge regression from the encoder's vectors to the learned ones of the same names.

    The penalty pulls vectors toward the mean, so the matrix is scaled to restore their variance.
    """
    rows = [row for row, word in enumerate(learned.words) if word in learned.names]
    sources = encoder.encode([learned.words[row].replace("_", " ") for row in rows])
    known = sources.any(axis=1)
    if known.sum() < MIN_NAMES:
        count = pluralize(int(known.sum()), "name")
        message = f"the corpus mentions only {count} of the taxonomy often enough"
        fix = "use a corpus about the subject of the taxonomy"
        raise ModelError(f"{message}, but {MIN_NAMES} are needed", fix=fix)
    x = sources[known].astype(np.float64)
    y = normalize_rows(learned.vectors[rows])[known].astype(np.float64)
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    matrix = _ridge(x - x_mean, y - y_mean)
    mapped_norm = np.linalg.norm((x - x_mean) @ matrix)
    if mapped_norm > 0:
        matrix = matrix * (np.linalg.norm(y - y_mean) / mapped_norm)
    offset = y_mean - x_mean @ matrix
    return SpaceMapping(matrix.astype(np.float32), offset.astype(np.float32))


def _ridge(x: Floats, y: Floats) -> Floats:
    """Return the ridge regression of centered data, with the penalty of least leave-one-out error.

    With x = U S Vᵀ and a penalty a, the fitted values are H y with H = U S² / (S² + a) Uᵀ. The
    error of a left-out row is its residual divided by 1 − H_ii − 1/n, where 1/n belongs to the
    mean.
    """
    u, s, v = np.linalg.svd(x, full_matrices=False)
    projected = u.T @ y

    def error(penalty: float) -> float:
        shrunk = s**2 / (s**2 + penalty)
        residual = y - u @ (shrunk[:, None] * projected)
        free = 1 - (u**2) @ shrunk - 1 / len(x)
        return float(np.mean((residual / free[:, None]) ** 2))

    penalty = min(RIDGE_PENALTIES, key=error)
    matrix: Floats = v.T @ ((s / (s**2 + penalty))[:, None] * projected)
    return matrix
