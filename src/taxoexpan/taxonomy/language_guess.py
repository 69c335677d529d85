"""A guess at the language of new names, from the letters of known names in each language."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MIN_TERMS = 5
MIN_FRACTION = 0.7
"""So many new names, and this fraction of them, must look like another language."""
MIN_KNOWN = 50
MAX_KNOWN = 2000
"""The number of known names from which the letters of a language are learned."""


@dataclass(frozen=True)
class LanguageGuess:
    """The language that new names look like, and the number of names that do."""

    language: str
    count: int


def other_language(
    known: Mapping[str, Sequence[str]], own: str, names: Sequence[str]
) -> LanguageGuess | None:
    """Return the language of new names, if most of them clearly look like another than `own`.

    Naive Bayes: the language of a name is the one in which its trigrams of letters are likeliest.
    """
    enough = {k: v[:: -(-len(v) // MAX_KNOWN)] for k, v in known.items() if len(v) >= MIN_KNOWN}
    if own not in enough or len(enough) < 2 or len(names) < MIN_TERMS:
        return None
    counts = {
        language: Counter(trigram for name in each for trigram in _trigrams(name))
        for language, each in enough.items()
    }
    size = len(set[str]().union(*counts.values()))
    totals = {language: each.total() + size for language, each in counts.items()}

    def likelihood(name: str, language: str) -> float:
        own_counts = counts[language]
        total = totals[language]
        return sum(math.log((own_counts[each] + 1) / total) for each in _trigrams(name))

    # If a name is as likely in both, it is in its own language.
    order = sorted(counts, key=lambda language: language != own)
    votes = Counter(max(order, key=lambda each: likelihood(name, each)) for name in names)
    ((language, count),) = votes.most_common(1)
    if language == own or count < MIN_FRACTION * len(names):
        return None
    return LanguageGuess(language, count)


def _trigrams(name: str) -> Iterator[str]:
    """Yield the trigrams of a name, with its start and end."""
    text = f" {name.strip().casefold()} "
    return (text[start : start + 3] for start in range(len(text) - 2))
