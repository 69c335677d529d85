"""Observations of the second pass: how and where the tracked phrases are mentioned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from taxoexpan.taxonomy.arrays import Indices


class Count(IntEnum):
    """The counts of a phrase."""

    MENTIONS = 0
    DOCUMENTS = 1
    SENTENCES = 2
    WITH_KNOWN = 3  # sentences that also mention a known concept
    AT_END = 4  # mentions at the end of a run of words
    AS_VERB = 5  # mentions after we, to, can, or before an article
    AFTER_BEING = 6  # mentions after is, are, was
    AFTER_POINTING = 7  # mentions after this, our, their


COUNTS = len(Count)

BestTexts = dict[int, tuple[int, str]]
"""The cost and the text of the best example or definition of each phrase number."""


@dataclass
class BlockObservations:
    """The observations in one block of texts; `counts` belong to these `cells` of the table."""

    texts: int
    sentences: int = 0
    cells: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    abbreviations: Counter[tuple[int, str]] = field(default_factory=Counter)
    examples: BestTexts = field(default_factory=dict)
    definitions: BestTexts = field(default_factory=dict)


class Observations:
    """The observations of the tracked phrases in the whole corpus, by phrase number.

    `table` has one row per phrase and one column per `Count`. `forms` are the written forms of each
    candidate, `abbreviations` the abbreviations in brackets after a phrase.
    """

    def __init__(self, size: int) -> None:
        self.texts = 0
        self.sentences = 0
        self.table: Indices = np.zeros((size, COUNTS), np.int64)
        self.forms: Counter[tuple[int, str]] = Counter()
        self.abbreviations: Counter[tuple[int, str]] = Counter()
        self.examples: BestTexts = {}
        self.definitions: BestTexts = {}

    def add(self, block: BlockObservations) -> None:
        """Add the observations of a block."""
        self.texts += block.texts
        self.sentences += block.sentences
        self.table.reshape(-1)[block.cells] += block.counts
        self.forms.update(block.forms)
        self.abbreviations.update(block.abbreviations)
        keep_best(self.examples, block.examples)
        keep_best(self.definitions, block.definitions)


def keep_best(best: BestTexts, others: BestTexts) -> None:
    """Replace each text for which `others` has one with a lower cost."""
    for number, other in others.items():
        best[number] = min(best.get(number, other), other)
