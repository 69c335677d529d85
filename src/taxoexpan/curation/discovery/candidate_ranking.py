"""The scores of candidates, and the known names that are nearest to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from taxoexpan.curation.discovery.candidates import TrackedPhrases
from taxoexpan.curation.discovery.observations import Count, Observations
from taxoexpan.features.embedding import BLOCK_SIZE
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

WORD_COHESION = 0.35
"""The cohesion of a single word, for which it cannot be measured."""

MIN_WHOLE = 0.5
"""A phrase is not a fragment if this fraction of mentions is independent and ends a word run."""

MIN_TOPICALITY = 0.05

PRIOR = 5.0
"""The weight of the average, as a number of mentions."""

NEAREST = 5
"""Known names that are found for each candidate."""

MIN_DUPLICATE_COSINE = 0.92
"""Two names with at least this cosine may name the same concept."""

MIN_SAME_STEM_COSINE = 0.8
"""The same for names with the same stems: relation extraction, relationship extraction."""

_STEM_LENGTH = 5
_BATCH_SIZE = 256


def score_candidates(
    tracked: TrackedPhrases, observations: Observations, names: Iterable[str]
) -> Floats:
    """Return a score for how likely each candidate is a concept of the domain."""
    candidates, table = tracked.candidates, observations.counts.T
    own = table[: len(candidates)]
    independence = np.array([candidate.independence for candidate in candidates])
    # The logarithm of the mentions outside a longer phrase, relative to the maximum.
    strength = np.log1p(own[:, Count.MENTIONS] * independence)
    scores: Floats = strength / strength.max(initial=1e-9)
    # The cohesion of the words, lowered for fragments of longer phrases.
    cohesion = np.array([c.cohesion if len(c.words) > 1 else WORD_COHESION for c in candidates])
    ends = own[:, Count.AT_END] / np.maximum(own[:, Count.MENTIONS], 1)
    whole = np.minimum(1, ends / MIN_WHOLE) * np.minimum(1, independence / MIN_WHOLE)
    scores *= np.sqrt(np.clip(cohesion, 0, 1)) * whole
    scores *= _nominality(tracked, table)
    scores *= _topicality(own, observations)
    # The rate of sentences with a known concept; 1 at or above the average rate.
    average = own[:, Count.WITH_KNOWN].sum() / max(own[:, Count.SENTENCES].sum(), 1)
    rates = (own[:, Count.WITH_KNOWN] + PRIOR * average) / (own[:, Count.SENTENCES] + PRIOR)
    scores *= np.minimum(1, np.maximum(rates, 1e-9) / max(average, 1e-9))
    # Established terms often have an abbreviation.
    given = np.zeros(len(candidates))
    for (number, _), count in observations.abbreviations.items():
        if number < len(given):
            given[number] += count
    scores *= (2 + np.minimum(1, 20 * given / (own[:, Count.DOCUMENTS] + PRIOR))) / 3
    return scores * _specificity(tracked, names)


def _nominality(tracked: TrackedPhrases, table: Indices) -> Floats:
    """Return a factor that is low for phrases used like verbs or adjectives, or after this, our."""
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
    """Return a factor that is high if single texts repeat a phrase, from the residual IDF."""
    texts = max(observations.texts, 1)
    expected = texts * -np.expm1(-own[:, Count.MENTIONS] / texts)
    residual = np.log((expected + 2) / (own[:, Count.DOCUMENTS] + 2))
    # A text of one or two sentences cannot repeat a phrase, so the factor matters less there.
    lowest = max(MIN_TOPICALITY, (texts / max(observations.sentences, 1)) ** 2)
    topicality: Floats = lowest - (1 - lowest) * np.expm1(-np.maximum(residual, 0) / 0.25)
    return topicality


def _specificity(tracked: TrackedPhrases, names: Iterable[str]) -> Floats:
    """Return a factor per candidate, lower for a single word that occurs in many names."""
    uses: Counter[str] = Counter()
    for name in names:
        words = {singular(word) for word in normalize_name(name).split()}
        uses.update(words if len(words) > 1 else ())
    return np.array(
        [1 / (1 + uses[c.words[0]] / 3) if len(c.words) == 1 else 1.0 for c in tracked.candidates]
    )


def find_nearest_names(
    encoder: Encoder, labels: Sequence[str], names: Sequence[str]
) -> list[list[tuple[str, float]]]:
    """Return the nearest known names of each candidate with their cosines, nearest first."""
    blocks = [encoder.encode(names[s : s + BLOCK_SIZE]) for s in range(0, len(names), BLOCK_SIZE)]
    known: Vectors = np.concatenate(blocks)
    count = min(NEAREST, len(names))
    nearest = []
    for start in range(0, len(labels), _BATCH_SIZE):
        similar = encoder.encode(labels[start : start + _BATCH_SIZE]) @ known.T
        best = np.argpartition(similar, -count, axis=1)[:, -count:]
        order = np.argsort(-np.take_along_axis(similar, best, axis=1), axis=1, kind="stable")
        indices = np.take_along_axis(best, order, axis=1)
        cosines = np.take_along_axis(similar, indices, axis=1)
        for row in zip(indices.tolist(), cosines.tolist(), strict=True):
            nearest.append([(names[index], cosine) for index, cosine in zip(*row, strict=True)])
    return nearest


def may_be_duplicate(label: str, name: str, cosine: float) -> bool:
    """Return whether a label may be a duplicate of a known name, and not a narrower concept."""
    own, known = normalize_name(label).split(), normalize_name(name).split()
    if set(known) < set(own) or len("".join(own)) < _STEM_LENGTH:
        return False
    if cosine >= MIN_DUPLICATE_COSINE:
        return True
    return (
        cosine >= MIN_SAME_STEM_COSINE
        and len(own) == len(known)
        and all(
            one == other or (len(one) >= _STEM_LENGTH and one.startswith(other[:_STEM_LENGTH]))
            for one, other in zip(own, known, strict=True)
        )
    )
