"""What the second pass sees of every candidate, and of the phrases that it is measured by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from taxoexpan.taxonomy.arrays import Indices


class Kind(IntEnum):
    """What is counted of a phrase."""

    MENTIONS = 0
    DOCUMENTS = 1
    SENTENCES = 2
    IN_COMPANY = 3  # sentences that name a known concept beside it
    AT_END = 4  # mentions after which no word of the same run comes
    AS_VERB = 5  # mentions after we, to, can, or before an article
    AFTER_BEING = 6
    POINTED_AT = 7  # mentions after this, our, their


KINDS = len(Kind)

Best = dict[int, tuple[int, str]]
"""By number the best text, behind how far it is from what is liked."""


@dataclass
class Found:
    """What one block of texts adds to the evidence; `places` of its table have these `counts`."""

    texts: int
    sentences: int = 0
    places: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    abbreviations: Counter[tuple[int, str]] = field(default_factory=Counter)
    examples: Best = field(default_factory=dict)
    definitions: Best = field(default_factory=dict)


class Evidence:
    """What was seen of the watched phrases, by their numbers.

    `table` has a row for each phrase and a column for each `Kind`. `forms` are the ways in which a
    candidate is written, `abbreviations` the letters in brackets behind a phrase.
    """

    def __init__(self, size: int) -> None:
        self.texts = 0
        self.sentences = 0
        self.table: Indices = np.zeros((size, KINDS), np.int64)
        self.forms: Counter[tuple[int, str]] = Counter()
        self.abbreviations: Counter[tuple[int, str]] = Counter()
        self.examples: Best = {}
        self.definitions: Best = {}

    def add(self, found: Found) -> None:
        """Take over what was seen in a block."""
        self.texts += found.texts
        self.sentences += found.sentences
        self.table.reshape(-1)[found.places] += found.counts
        self.forms.update(found.forms)
        self.abbreviations.update(found.abbreviations)
        improve(self.examples, found.examples)
        improve(self.definitions, found.definitions)


def improve(best: Best, others: Best) -> None:
    """Keep the better one of each number."""
    for number, found in others.items():
        best[number] = min(best.get(number, found), found)
