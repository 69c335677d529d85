"""Train skip-gram vectors on a corpus (Section 5.1.1), as a file for `--features vectors:FILE`.

    python -m reproduction.skipgram CORPUS TAXONOMY [NEW] -o FILE

Every label and synonym of the taxonomy and of the new concepts becomes one word.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from reproduction.phrases import PhraseMatcher, name_token, tokenize
from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.embedding import names_of
from taxoexpan.features.encoder import Vectors
from taxoexpan.files import check_output, temporary_folder, write_whole
from taxoexpan.formats.concept_list import read_concepts

DIMENSION = 250

MAX_SENTENCE_WORDS = 1_000
"""The longest sentence that word2vec accepts; longer documents are split."""

MIN_COUNT = 5
"""The number of times that a word occurs, at least."""


@dataclass(frozen=True)
class SkipGramVectors:
    """Learned words, the most frequent first, with their vectors [V, D]."""

    words: tuple[str, ...]
    vectors: Vectors


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn the vectors and write them as a text file of word2vec."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("new", type=Path, nargs="?", help="concepts that are to be placed later")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of word vectors")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    check_output(options.output, force=False)
    new = read_concepts(options.new) if options.new else []
    names = sorted({*names_of(read_taxonomy(options.taxonomy).concepts), *names_of(new)})
    learned = train_skipgram(options.corpus, names, seed=options.seed)
    write_whole({options.output: word2vec_text(learned, names).encode()})


def train_skipgram(
    path: Path,
    names: Iterable[str],
    *,
    dimension: int = DIMENSION,
    epochs: int = 5,
    seed: int = 0,
) -> SkipGramVectors:
    """Learn, reproducibly, the vectors of all words and names with `MIN_COUNT` occurrences."""
    from gensim.models.word2vec import LineSentence, Word2Vec

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
            file.writelines(join_names(path, list(names)))
        sentences = LineSentence(str(training_file))
        model.build_vocab(sentences)
        if not len(model.wv):
            message = f"no word occurs {MIN_COUNT} times in documents that mention a concept"
            raise FormatError(path, message, fix="use a larger corpus")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    # The mean of all words distinguishes none of them; parents are found better without it.
    vectors = model.wv.vectors - model.wv.vectors.mean(axis=0)
    return SkipGramVectors(tuple(model.wv.index_to_key), np.asarray(vectors, dtype=np.float32))


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


def word2vec_text(learned: SkipGramVectors, names: Iterable[str]) -> str:
    """Return the vectors as text; names are spelled as `vectors:FILE` looks them up."""
    rows = {word: row for row, word in enumerate(learned.words)}
    for name in names:
        if (row := rows.get(name_token(name))) is not None:
            rows["_".join(name.lower().split())] = row
    lines = [
        f"{word} {' '.join(f'{number:.6g}' for number in learned.vectors[row].tolist())}\n"
        for word, row in rows.items()
    ]
    return "".join([f"{len(rows)} {learned.vectors.shape[1]}\n", *lines])


if __name__ == "__main__":
    main()
