"""The first pass: how often every phrase is said, counted in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from taxoexpan.curation.discovery.words import LONGEST, Keys, pieces_of, runs_of
from taxoexpan.features.corpus.parallel import map_blocks

CAPACITY = 2_000_000
"""Phrases counted at a time, in some 400 MB."""

AT_A_TIME = 1 << 16
"""Phrases that are held one by one; a text may be a book."""


class Tally:
    """Counts of phrases; when there are too many, the rarest are forgotten.

    A count is too low by `missed` at most, so what is said more often than that is never lost.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.counts: dict[str, int] = {}
        self.missed = 0
        self._capacity = capacity

    def add(self, counts: Mapping[str, int]) -> None:
        """Count these too, and make room where it is needed."""
        own = self.counts
        for phrase, count in counts.items():
            own[phrase] = own.get(phrase, 0) + count
        if len(own) > self._capacity:
            self._forget()

    def _forget(self) -> None:
        """Drop at least half of what there is room for, those said least."""
        counts = np.fromiter(self.counts.values(), np.int64, count=len(self.counts))
        place = len(counts) - max(1, self._capacity // 2)
        threshold = int(np.partition(counts, place)[place])
        self.counts = {phrase: n for phrase, n in self.counts.items() if n > threshold}
        self.missed += threshold


def count_phrases(
    texts: Iterator[str], keys: Keys, workers: int | None = None, capacity: int = CAPACITY
) -> Tally:
    """Count all phrases of a corpus by their keys, and those one word longer than we take.

    These show whether a phrase is but a part of a longer one.
    """

    def count(block: list[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        phrases: list[str] = []
        for text in block:
            for _, pieces in pieces_of(text):
                phrases += _phrases_of(pieces, keys)
                if len(phrases) >= AT_A_TIME:
                    counts.update(phrases)
                    phrases.clear()
        counts.update(phrases)
        return counts

    tally = Tally(capacity)
    for counts in map_blocks(count, texts, workers):
        tally.add(counts)
    return tally


def _phrases_of(pieces: list[str], keys: Keys) -> list[str]:
    """Every phrase of a sentence, as often as it stands there."""
    phrases = []
    words = [keys[piece] for piece in pieces]
    for start, end in runs_of(words):
        for first in range(start, end):
            phrase = ""
            for word in words[first : min(end, first + LONGEST + 1)]:
                phrase = f"{phrase} {word}" if phrase else f"{word}"
                phrases.append(phrase)
    return phrases
