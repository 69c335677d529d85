"""The first pass over the corpus: counts of all phrases, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from taxoexpan.curation.discovery.words import (
    MAX_PHRASE_WORDS,
    WordKeys,
    tokenized_sentences,
    word_runs,
)
from taxoexpan.features.corpus.parallel import map_blocks

CAPACITY = 2_000_000
"""Phrases that are counted at the same time; they take about 400 MB."""

BATCH_SIZE = 1 << 16
"""Phrases that are collected before they are counted; a text may be a whole book."""


class PhraseCounts:
    """Counts of phrases; if there are too many phrases, the rarest ones are dropped.

    A count is too low by at most `max_error`, so a phrase with more mentions is never lost.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.counts: dict[str, int] = {}
        self.max_error = 0
        self._capacity = capacity

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts, and drop rare phrases if there are more than fit."""
        own = self.counts
        for phrase, count in counts.items():
            own[phrase] = own.get(phrase, 0) + count
        if len(own) > self._capacity:
            self._drop_rare()

    def _drop_rare(self) -> None:
        """Keep only the most frequent phrases, at most half as many as the capacity."""
        counts = np.fromiter(self.counts.values(), np.int64, count=len(self.counts))
        position = len(counts) - max(1, self._capacity // 2)
        threshold = int(np.partition(counts, position)[position])
        self.counts = {phrase: n for phrase, n in self.counts.items() if n > threshold}
        self.max_error += threshold


def count_phrases(
    texts: Iterator[str], keys: WordKeys, workers: int | None = None, capacity: int = CAPACITY
) -> PhraseCounts:
    """Count all phrases of a corpus by their keys.

    Phrases with one word more than `MAX_PHRASE_WORDS` are counted too, because they show whether
    a shorter phrase is only a part of a longer one.
    """

    def count(block: list[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        phrases: list[str] = []
        for text in block:
            for _, tokens in tokenized_sentences(text):
                phrases += _phrases_in(tokens, keys)
                if len(phrases) >= BATCH_SIZE:
                    counts.update(phrases)
                    phrases.clear()
        counts.update(phrases)
        return counts

    total = PhraseCounts(capacity)
    for counts in map_blocks(count, texts, workers):
        total.add(counts)
    return total


def _phrases_in(tokens: list[str], keys: WordKeys) -> list[str]:
    """Every phrase of a sentence, repeated for each mention."""
    phrases = []
    words = [keys[token] for token in tokens]
    for start, end in word_runs(words):
        for first in range(start, end):
            phrase = ""
            for word in words[first : min(end, first + MAX_PHRASE_WORDS + 1)]:
                phrase = f"{phrase} {word}" if phrase else f"{word}"
                phrases.append(phrase)
    return phrases
