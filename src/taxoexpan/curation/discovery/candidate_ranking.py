"""The score of a candidate: how likely it is to be a concept of the taxonomy's domain.

The score is a product, so a single bad factor is enough to lower it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from taxoexpan.curation.discovery.candidates import TrackedPhrases
from taxoexpan.curation.discovery.observations import Count, Observations
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

WORD_COHESION = 0.35
"""The cohesion of a single word, for which it cannot be measured."""

MIN_WHOLE = 0.5
"""A phrase is no fragment if this fraction of mentions is independent and ends a run of words."""

MIN_TOPICALITY = 0.05

PRIOR = 5.0
"""The weight of the average, as a number of mentions."""


def score_candidates(
    tracked: TrackedPhrases, observations: Observations, names: Iterable[str]
) -> Floats:
    """A score from 0 to 1 for each candidate; `names` are the names of the taxonomy."""
    table = observations.table
    own = table[: len(tracked.candidates)]
    return (
        _strength(tracked, own)
        * _unity(tracked, own)
        * _nominality(tracked, table)
        * _topicality(own, observations)
        * _known_context(own)
        * _introduction(tracked, observations, own)
        * _specificity(tracked, names)
    )


def _strength(tracked: TrackedPhrases, own: Indices) -> Floats:
    """The logarithm of the mentions outside a longer phrase, relative to the maximum."""
    independence = np.array([candidate.independence for candidate in tracked.candidates])
    strength = np.log1p(own[:, Count.MENTIONS] * independence)
    scaled: Floats = strength / strength.max(initial=1e-9)
    return scaled


def _unity(tracked: TrackedPhrases, own: Indices) -> Floats:
    """The cohesion of the words, lowered for fragments of longer phrases."""
    cohesion = np.array(
        [c.cohesion if len(c.words) > 1 else WORD_COHESION for c in tracked.candidates]
    )
    independence = np.array([candidate.independence for candidate in tracked.candidates])
    ends = own[:, Count.AT_END] / np.maximum(own[:, Count.MENTIONS], 1)
    whole = np.minimum(1, ends / MIN_WHOLE) * np.minimum(1, independence / MIN_WHOLE)
    unity: Floats = np.sqrt(np.clip(cohesion, 0, 1)) * whole
    return unity


def _nominality(tracked: TrackedPhrases, table: Indices) -> Floats:
    """Return a factor that is low in the position of a verb or adjective, or after this and our."""
    rates = table / np.maximum(table[:, [Count.MENTIONS]], 1)
    as_verb = rates[:, Count.AS_VERB]
    unusual = as_verb + rates[:, Count.AFTER_POINTING] + 0.7 * rates[:, Count.AFTER_BEING]
    edges = np.array(
        [[tracked.numbers[c.words[0]], tracked.numbers[c.words[-1]]] for c in tracked.candidates]
    ).reshape(-1, 2)
    # A noun may sometimes be in the position of a verb too.
    verbs = np.maximum(as_verb[edges] - 0.05, 0).sum(axis=1)
    nominality: Floats = np.exp(-4 * unusual[: len(tracked.candidates)] - 3 * verbs)
    return nominality


def _topicality(own: Indices, observations: Observations) -> Floats:
    """Return a factor that is high if a text repeats the phrase, low if many texts use it once.

    It grows with the residual IDF: the logarithm of the expected number of documents, if mentions
    were distributed at random, over the actual number.
    """
    texts = max(observations.texts, 1)
    expected = texts * -np.expm1(-own[:, Count.MENTIONS] / texts)
    residual = np.log((expected + 2) / (own[:, Count.DOCUMENTS] + 2))
    # A text of one or two sentences cannot repeat a phrase, so the factor matters less there.
    lowest = max(MIN_TOPICALITY, (texts / max(observations.sentences, 1)) ** 2)
    topicality: Floats = lowest - (1 - lowest) * np.expm1(-np.maximum(residual, 0) / 0.25)
    return topicality


def _known_context(own: Indices) -> Floats:
    """The rate of sentences with a known concept; 1 at or above the average rate."""
    average = own[:, Count.WITH_KNOWN].sum() / max(own[:, Count.SENTENCES].sum(), 1)
    rates = (own[:, Count.WITH_KNOWN] + PRIOR * average) / (own[:, Count.SENTENCES] + PRIOR)
    context: Floats = np.minimum(1, np.maximum(rates, 1e-9) / max(average, 1e-9))
    return context


def _introduction(tracked: TrackedPhrases, observations: Observations, own: Indices) -> Floats:
    """Return a factor that is higher with an abbreviation, which established terms often have."""
    given = np.zeros(len(tracked.candidates))
    for (number, _), count in observations.abbreviations.items():
        if number < len(given):
            given[number] += count
    introduction: Floats = (2 + np.minimum(1, 20 * given / (own[:, Count.DOCUMENTS] + PRIOR))) / 3
    return introduction


def _specificity(tracked: TrackedPhrases, names: Iterable[str]) -> Floats:
    """Return a factor per candidate, which is 1 for a phrase of several words.

    For a single word, the factor is lower the more multi-word names of the taxonomy contain it.
    """
    uses: Counter[str] = Counter()
    for name in names:
        words = {singular(word) for word in normalize_name(name).split()}
        uses.update(words if len(words) > 1 else ())
    return np.array(
        [1 / (1 + uses[c.words[0]] / 3) if len(c.words) == 1 else 1.0 for c in tracked.candidates]
    )
