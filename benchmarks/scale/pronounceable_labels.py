"""Labels of one to four invented words for a synthetic taxonomy.

Word frequencies follow Zipf's law, and the vocabulary grows with the number of labels, as in
MAG-CS. A child often ends in the last word of its parent, as *oat milk* does under *milk*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

ONSETS = [*"bdfghklmnprstvwz", "br", "dr", "fr", "gr", "kr", "pr", "tr"]
ONSETS += ["bl", "fl", "gl", "kl", "pl", "st", "sk"]
VOWELS = "aeiou"
CODAS = ("", "n", "r", "l")
SYLLABLES = [onset + vowel + coda for onset in ONSETS for vowel in VOWELS for coda in CODAS]
SHORT_WORDS = 20_000
"""The most frequent words have two syllables, and all others three."""
SCRAMBLE = 7_368_787
"""A prime, so that words of neighboring ranks differ, and all words are distinct."""
VOCABULARY, VOCABULARY_LABELS, VOCABULARY_GROWTH = 16_398, 29_654, 0.8
"""MAG-CS has so many words in so many labels; the power by which words grow with labels."""
ZIPF_SHIFT = 10
"""The word of rank r is drawn with a probability proportional to 1 / (r + shift)."""
LENGTHS = (0.162, 0.497, 0.244, 0.097)
"""The shares of labels with one to four words in MAG-CS."""
SHARED_WITH_PARENT = 0.45
"""The share of labels of several words that end like their first parent: with it, child and parent
share a word in about 27% of all relations, as in MAG-CS."""
MAX_REDRAWS = 20


def draw_labels(
    first_parents: Indices, levels: Sequence[slice], rng: np.random.Generator
) -> list[str]:
    """Draw distinct labels; parents come before children, and `levels` are their slices."""
    size = len(first_parents)
    frequencies = Frequencies(vocabulary_size(size))
    lengths = rng.choice(len(LENGTHS), size, p=LENGTHS) + 1
    words = frequencies.draw((size, len(LENGTHS)), rng)
    inherits = (lengths > 1) & (rng.random(size) < SHARED_WITH_PARENT) & (first_parents >= 0)
    single = np.flatnonzero(lengths == 1)
    words[single, 0] = rng.permutation(frequencies.size)[: len(single)]
    for level in levels:
        rows = np.arange(level.start, level.stop)[inherits[level]]
        parents = first_parents[rows]
        words[rows, lengths[rows] - 1] = words[parents, lengths[parents] - 1]
    words[np.arange(len(LENGTHS)) >= lengths[:, None]] = -1
    redraw_duplicates(words, frequencies.size, rng)
    vocabulary = [word_of_rank(rank) for rank in range(frequencies.size)]
    return [
        " ".join([vocabulary[word] for word in row[:length]])
        for row, length in zip(words.tolist(), lengths.tolist(), strict=True)
    ]


class Frequencies:
    """Draws words by their frequency: Zipf's law with the ranks shifted a little."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.cumulative = np.cumsum(1 / (np.arange(size) + ZIPF_SHIFT))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Indices:
        """Draw the ranks of words with replacement."""
        drawn = np.searchsorted(self.cumulative, rng.random(shape) * self.cumulative[-1])
        return drawn.clip(max=self.size - 1)


def redraw_duplicates(words: Indices, vocabulary: int, rng: np.random.Generator) -> None:
    """Change the first word of repeated labels until all labels of several words are distinct."""
    several = np.flatnonzero(words[:, 1] >= 0)
    factors = rng.integers(1, 2**63, words.shape[1], dtype=np.uint64) | np.uint64(1)
    for _ in range(MAX_REDRAWS):
        hashes = ((words[several] + 2).astype(np.uint64) * factors).sum(1)
        _, first = np.unique(hashes, return_index=True)
        if len(first) == len(several):
            return
        repeated = np.delete(several, first)
        words[repeated, 0] = rng.integers(0, vocabulary, len(repeated))


def vocabulary_size(labels: int) -> int:
    """Return the number of words that so many labels are drawn from."""
    size: float = VOCABULARY * (labels / VOCABULARY_LABELS) ** VOCABULARY_GROWTH
    return max(round(size), int(labels * LENGTHS[0] * 1.1), 100)


def word_of_rank(rank: int) -> str:
    """Return the invented word with this rank; words of different ranks are different."""
    count = 2 if rank < SHORT_WORDS else 3
    code, syllables = rank * SCRAMBLE % len(SYLLABLES) ** count, list[str]()
    for _ in range(count):
        code, syllable = divmod(code, len(SYLLABLES))
        syllables.append(SYLLABLES[syllable])
    return "".join(syllables)


def draw_synonyms(
    labels: Sequence[str], share: float, rng: np.random.Generator
) -> dict[int, tuple[str, ...]]:
    """Return one synonym for a share of the labels: another first word before the last one."""
    chosen = np.flatnonzero(rng.random(len(labels)) < share)
    words = Frequencies(vocabulary_size(len(labels))).draw((len(chosen),), rng)
    return {
        row: (f"{word_of_rank(word)} {labels[row].split()[-1]}",)
        for row, word in zip(chosen.tolist(), words.tolist(), strict=True)
    }


def draw_definitions(
    labels: Sequence[str],
    first_parents: Indices,
    share: float,
    rng: np.random.Generator,
) -> dict[int, str]:
    """Return a definition for a share of the concepts that have a parent; it names the parent."""
    is_defined: NDArray[np.bool_] = rng.random(len(labels)) < share
    chosen = np.flatnonzero(is_defined & (first_parents >= 0))
    words = Frequencies(vocabulary_size(len(labels))).draw((len(chosen), 2), rng)
    return {
        row: f"a {labels[parent]} with {word_of_rank(one)} and {word_of_rank(other)}"
        for row, parent, (one, other) in zip(
            chosen.tolist(), first_parents[chosen].tolist(), words.tolist(), strict=True
        )
    }
