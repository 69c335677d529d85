"""Vectors learned from a corpus: word2vec's skip-gram model, with every name as one word.

As in Section 5.1.1 of the paper: the documents that mention a concept, names joined by `_`, and 250
dimensions. What the paper leaves open is as in Google's word2vec, which it used.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import NoReturn
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.phrases import PhraseMatcher, name_token, tokenize
from taxoexpan.features.encoder import Vectors

DIMENSION = 250

LONGEST_SENTENCE = 1_000
"""Words that word2vec takes at a time; a longer document is cut."""

_FALSE_ALARM = "Exception ignored in: 'gensim.models.word2vec_inner.our_dot"


@dataclass(frozen=True)
class SkipGramVectors:
    """What was learned: words, the most frequent first, each with a vector [V, D] and a count.

    `names` are those words that are names.
    """

    words: tuple[str, ...]
    names: frozenset[str]
    counts: NDArray[np.int64]
    vectors: Vectors


def train_skipgram(
    path: Path,
    names: Iterable[str],
    *,
    dimension: int = DIMENSION,
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    min_count: int = 5,
    seed: int = 0,
    workers: int = 1,
    progress: bool = False,
) -> SkipGramVectors:
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
        # Within `without_false_alarms` the bar could not be seen.
        with (
            tqdm(
                desc="learning words",
                total=epochs * model.corpus_count,
                unit=" texts",
                leave=False,
                file=sys.stderr,
                disable=None if progress else True,
            ) as bar,
            without_false_alarms(),
        ):
            model.train(_Told(sentences, bar), total_examples=model.corpus_count, epochs=epochs)
    words = tuple(model.wv.index_to_key)
    # What all words have in common tells none from another; without it parents are found better.
    vectors = model.wv.vectors - model.wv.vectors.mean(axis=0)
    return SkipGramVectors(
        words,
        frozenset(map(name_token, names)) & frozenset(words),
        np.array([model.wv.get_vecattr(word, "count") for word in words], dtype=np.int64),
        np.asarray(vectors, dtype=np.float32),
    )


class _Told:
    """Sentences that can be gone through again and again, each time telling a bar."""

    def __init__(self, sentences: Iterable[list[str]], bar: tqdm[NoReturn]) -> None:
        self._sentences, self._bar = sentences, bar

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self._sentences:
            self._bar.update()
            yield sentence


def refuse_training() -> None:
    """Refuse, before any work is done, to train without gensim."""
    try:
        import gensim.models.word2vec  # noqa: F401
    except ImportError as error:
        message = f"gensim, which learns vectors from a corpus, cannot be used here ({error})"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[corpus]'") from None


def _write_joined(path: Path, names: Sequence[str], joined: Path) -> None:
    """Write the documents that mention a name, a line each, every name as one word."""
    phrases, mentioned = PhraseMatcher(names), frozenset(map(name_token, names))

    def join(texts: list[str]) -> str:
        documents = (phrases.join(tokenize(text)) for text in texts)
        kept = (words for words in documents if not mentioned.isdisjoint(words))
        return "".join(f"{' '.join(line)}\n" for words in kept for line in _cut(words))

    with joined.open("w", encoding="utf-8") as file:
        for lines in map_blocks(join, read_documents(path)):
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
