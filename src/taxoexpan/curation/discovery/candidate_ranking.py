"""The score of a candidate: how much it looks like a concept of the taxonomy's field.

It is a product, so that one thing that speaks against a candidate is enough to lower it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.discovery.candidates import Watched
from taxoexpan.curation.discovery.observations import Evidence, Kind
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

Scores = NDArray[np.float64]

WORD_COHESION = 0.35
"""What a single word has, of which nobody can say how well it holds together."""

WHOLE = 0.5
"""From this share of mentions on, as a whole or at the end of a run, a phrase is no fragment."""

LEAST_TOPICALITY = 0.05

PRIOR = 5.0
"""Mentions that are taken to be average before any is seen."""


def score_candidates(watched: Watched, evidence: Evidence, names: Iterable[str]) -> Scores:
    """A score for each candidate, from 0 to 1; `names` are those of the taxonomy."""
    table = evidence.table
    own = table[: len(watched.candidates)]
    return (
        _strength(watched, own)
        * _unity(watched, own)
        * _nominality(watched, table)
        * _topicality(own, evidence)
        * _company(own)
        * _introduction(watched, evidence, own)
        * _specificity(watched, names)
    )


def _strength(watched: Watched, own: Indices) -> Scores:
    """The logarithm of the mentions outside a longer phrase, the largest being 1."""
    independence = np.array([candidate.independence for candidate in watched.candidates])
    strength = np.log1p(own[:, Kind.MENTIONS] * independence)
    scaled: Scores = strength / strength.max(initial=1e-9)
    return scaled


def _unity(watched: Watched, own: Indices) -> Scores:
    """How well the words hold together, and whether the phrase is whole and no fragment."""
    cohesion = np.array(
        [c.cohesion if len(c.words) > 1 else WORD_COHESION for c in watched.candidates]
    )
    independence = np.array([candidate.independence for candidate in watched.candidates])
    ends = own[:, Kind.AT_END] / np.maximum(own[:, Kind.MENTIONS], 1)
    whole = np.minimum(1, ends / WHOLE) * np.minimum(1, independence / WHOLE)
    unity: Scores = np.sqrt(np.clip(cohesion, 0, 1)) * whole
    return unity


def _nominality(watched: Watched, table: Indices) -> Scores:
    """Low for what stands where verbs, adjectives and the text's own things do."""
    shares = table / np.maximum(table[:, [Kind.MENTIONS]], 1)
    odd = shares[:, Kind.AS_VERB] + shares[:, Kind.POINTED_AT] + 0.7 * shares[:, Kind.AFTER_BEING]
    edges = np.array(
        [[watched.numbers[c.words[0]], watched.numbers[c.words[-1]]] for c in watched.candidates]
    ).reshape(-1, 2)
    # A word may now and then stand where a verb does and be a noun all the same.
    verbs = np.maximum(shares[edges, Kind.AS_VERB] - 0.05, 0).sum(axis=1)
    nominality: Scores = np.exp(-4 * odd[: len(watched.candidates)] - 3 * verbs)
    return nominality


def _topicality(own: Indices, evidence: Evidence) -> Scores:
    """High for what a text keeps coming back to, and low for what any text says once.

    The logarithm of the documents that so many mentions would be in if they fell anywhere, over
    those that they are in (residual IDF). What is said once a text and everywhere is an idiom.
    """
    texts = max(evidence.texts, 1)
    anywhere = texts * -np.expm1(-own[:, Kind.MENTIONS] / texts)
    residual = np.log((anywhere + 2) / (own[:, Kind.DOCUMENTS] + 2))
    # A text of a sentence or two cannot come back to anything, and says little here.
    least = max(LEAST_TOPICALITY, (texts / max(evidence.sentences, 1)) ** 2)
    topicality: Scores = least - (1 - least) * np.expm1(-np.maximum(residual, 0) / 0.25)
    return topicality


def _company(own: Indices) -> Scores:
    """How often known concepts are named in the same sentence; 1 for the usual share and more."""
    usual = own[:, Kind.IN_COMPANY].sum() / max(own[:, Kind.SENTENCES].sum(), 1)
    shares = (own[:, Kind.IN_COMPANY] + PRIOR * usual) / (own[:, Kind.SENTENCES] + PRIOR)
    company: Scores = np.minimum(1, np.maximum(shares, 1e-9) / max(usual, 1e-9))
    return company


def _introduction(watched: Watched, evidence: Evidence, own: Indices) -> Scores:
    """Higher where texts give an abbreviation for it, as they do for things with a name."""
    given = np.zeros(len(watched.candidates))
    for (number, _), count in evidence.abbreviations.items():
        if number < len(given):
            given[number] += count
    introduction: Scores = (2 + np.minimum(1, 20 * given / (own[:, Kind.DOCUMENTS] + PRIOR))) / 3
    return introduction


def _specificity(watched: Watched, names: Iterable[str]) -> Scores:
    """Low for a single word of which the taxonomy makes many names without being one itself."""
    uses: Counter[str] = Counter()
    for name in names:
        words = {singular(word) for word in normalize_name(name).split()}
        uses.update(words if len(words) > 1 else ())
    return np.array(
        [1 / (1 + uses[c.words[0]] / 3) if len(c.words) == 1 else 1.0 for c in watched.candidates]
    )
