"""Candidates, which are phrases that may be new concepts, and the other phrases to observe."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from taxoexpan.curation.discovery.words import (
    MAX_PHRASE_WORDS,
    PhraseCounts,
    phrase_key,
    spelling_key,
)

MAX_CANDIDATES = 20_000
"""Candidates that the second pass observes."""

MIN_COHESION = 0.1
MIN_INDEPENDENCE = 0.1
_RARITY = 1000
"""A known name is specific if at most one word in this many belongs to it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase with all its spellings, the most frequent spelling first."""

    spellings: tuple[str, ...]
    cohesion: float
    independence: float

    @property
    def words(self) -> list[str]:
        """The keys of the words of the most frequent spelling."""
        return self.spellings[0].split()


@dataclass(frozen=True)
class TrackedPhrases:
    """The phrases that the second pass looks for; `numbers` maps each phrase to its number.

    The first numbers are candidates. Then follow the `known` concepts of the taxonomy; the names of
    the `specific` ones are rare. The last numbers are the first and last words of candidates.
    """

    candidates: Sequence[Candidate]
    known: Sequence[int]
    specific: frozenset[int]
    numbers: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of distinct phrase numbers."""
        return max(self.numbers.values(), default=-1) + 1


def choose_candidates(
    phrase_counts: PhraseCounts, names: Mapping[str, int], min_count: int
) -> TrackedPhrases:
    """Choose the phrases to track; `names` maps known names to the indices of concepts."""
    total = sum(n for phrase, n in phrase_counts.counts.items() if " " not in phrase)
    frequent = {phrase: n for phrase, n in phrase_counts.counts.items() if n >= min_count}
    known_keys = {phrase_key(name): index for name, index in names.items()}
    known: dict[str, int] = {}
    new = []
    for phrase in frequent:
        key = phrase_key(phrase)
        if key in known_keys:
            known[phrase] = known_keys[key]
        elif phrase.count(" ") < MAX_PHRASE_WORDS and len(phrase) > 1:
            new.append(phrase)
    candidates = _merge_spellings(_strongest(new, frequent, total), frequent)
    specific = {known[phrase] for phrase in known if frequent[phrase] * _RARITY <= total}
    return _number_phrases(candidates, known, specific)


def _strongest(
    phrases: Sequence[str], counts: Mapping[str, int], total: int
) -> list[tuple[str, float, float]]:
    """Return cohesive and independent phrases with both values, by descending C-value."""
    longer = _longer_phrase_counts(counts)
    ranked = []
    for phrase in phrases:
        cohesive = cohesion(phrase, counts, total)
        independent = 1 - longer.get(phrase, 0) / counts[phrase]
        if cohesive >= MIN_COHESION and independent >= MIN_INDEPENDENCE:
            # The C-value, but with the most frequent longer phrase instead of the mean over all
            # longer phrases, which is low for a part that also occurs in many rare phrases.
            value = math.log2(phrase.count(" ") + 2) * counts[phrase] * independent
            ranked.append((-value, phrase, cohesive, independent))
    return [(phrase, c, i) for _, phrase, c, i in sorted(ranked)[:MAX_CANDIDATES]]


def cohesion(phrase: str, counts: Mapping[str, int], total: int) -> float:
    """Return the normalized pointwise mutual information of a phrase; 1 for a single word.

    log(p(ab) / p(a) p(b)) / -log p(ab), at the split of the phrase where it is lowest.
    """
    words = phrase.split()
    if len(words) == 1 or counts[phrase] >= total:
        return 1.0
    whole = counts[phrase] / total
    splits = ((" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words)))
    chance = max(counts[one] * counts[other] for one, other in splits) / total**2
    return math.log(whole / chance) / -math.log(whole)


def _longer_phrase_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return, for each phrase, the count of the most frequent phrase with one more word."""
    longer: dict[str, int] = defaultdict(int)
    for phrase, count in counts.items():
        if " " in phrase:
            for part in (phrase.partition(" ")[2], phrase.rpartition(" ")[0]):
                longer[part] = max(longer[part], count)
    return longer


def _merge_spellings(
    phrases: Sequence[tuple[str, float, float]], counts: Mapping[str, int]
) -> list[Candidate]:
    """Return candidates, each with all spellings of one name."""
    groups: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for each in phrases:
        groups[spelling_key(each[0])].append(each)
    candidates = []
    for group in groups.values():
        group.sort(key=lambda each: (-counts[each[0]], each[0]))
        _, cohesive, independent = group[0]
        spellings = tuple(phrase for phrase, *_ in group)
        candidates.append(Candidate(spellings, cohesive, independent))
    return candidates


def _number_phrases(
    candidates: Sequence[Candidate], known: Mapping[str, int], specific: Collection[int]
) -> TrackedPhrases:
    """Assign a number to every tracked phrase."""
    numbers = {p: number for number, c in enumerate(candidates) for p in c.spellings}
    concepts = sorted(set(known.values()))
    number_of = {concept: len(candidates) + i for i, concept in enumerate(concepts)}
    numbers.update((phrase, number_of[concept]) for phrase, concept in known.items())
    edge_words = {word for c in candidates for word in (c.words[0], c.words[-1])}
    size = len(candidates) + len(concepts)
    for number, word in enumerate(sorted(edge_words - numbers.keys()), start=size):
        numbers[word] = number
    specific_numbers = frozenset(number_of[concept] for concept in specific)
    return TrackedPhrases(candidates, concepts, specific_numbers, numbers)
