"""Between the passes: which phrases may be concepts, and which the taxonomy has already."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from taxoexpan.curation.discovery.phrase_counts import Tally
from taxoexpan.curation.discovery.words import LONGEST, name_key, spelling_key

MOST = 20_000
"""Candidates that are looked at in the second pass."""

LEAST_COHESION = 0.1
LEAST_INDEPENDENCE = 0.1
_RARE = 1000
"""A known name tells what a sentence is about if no more than one word in so many is it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase in all its spellings, the most frequent one first."""

    spellings: tuple[str, ...]
    cohesion: float
    independence: float

    @property
    def words(self) -> list[str]:
        """The keys of its words."""
        return self.spellings[0].split()


@dataclass(frozen=True)
class Watched:
    """The phrases that the second pass looks for, by number.

    Candidates have the first numbers, known names the next ones, with `known` the index of the
    concept of each; `telling` are the known names that are not said everywhere. Then come the
    words that the candidates begin and end with.
    """

    candidates: Sequence[Candidate]
    known: Sequence[int]
    telling: frozenset[int]
    numbers: Mapping[str, int]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return max(self.numbers.values(), default=-1) + 1


def choose_candidates(tally: Tally, names: Mapping[str, int], min_count: int) -> Watched:
    """Choose what to look at; `names` are the known names with the indices of their concepts."""
    total = sum(n for phrase, n in tally.counts.items() if " " not in phrase)
    frequent = {phrase: n for phrase, n in tally.counts.items() if n >= min_count}
    known_keys = {name_key(name): index for name, index in names.items()}
    known: dict[str, int] = {}
    new = []
    for phrase in frequent:
        key = name_key(phrase)
        if key in known_keys:
            known[phrase] = known_keys[key]
        elif phrase.count(" ") < LONGEST and len(phrase) > 1:
            new.append(phrase)
    candidates = _in_one(_strong(new, frequent, total), frequent)
    telling = {known[phrase] for phrase in known if frequent[phrase] * _RARE <= total}
    return _numbered(candidates, known, telling)


def _strong(
    phrases: Sequence[str], counts: Mapping[str, int], total: int
) -> list[tuple[str, float, float]]:
    """The phrases that hold together and are no mere part of another, the strongest first."""
    longer = _longer(counts)
    strong = []
    for phrase in phrases:
        together = cohesion(phrase, counts, total)
        free = 1 - longer.get(phrase, 0) / counts[phrase]
        if together >= LEAST_COHESION and free >= LEAST_INDEPENDENCE:
            # The C-value, but the longer phrase that counts is the most frequent one: the mean over
            # all of them would let a part pass that has many rare ones beside.
            value = math.log2(phrase.count(" ") + 2) * counts[phrase] * free
            strong.append((-value, phrase, together, free))
    return [(phrase, together, free) for _, phrase, together, free in sorted(strong)[:MOST]]


def cohesion(phrase: str, counts: Mapping[str, int], total: int) -> float:
    """How much more than by chance the parts come together, from -1 to 1; 1 for a single word.

    log(p(ab) / p(a) p(b)) / -log p(ab), where the phrase holds together least.
    """
    words = phrase.split()
    if len(words) == 1 or counts[phrase] >= total:
        return 1.0
    whole = counts[phrase] / total
    splits = ((" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words)))
    chance = max(counts[one] * counts[other] for one, other in splits) / total**2
    return math.log(whole / chance) / -math.log(whole)


def _longer(counts: Mapping[str, int]) -> dict[str, int]:
    """For each phrase the count of the most frequent one that is a word longer."""
    longer: dict[str, int] = defaultdict(int)
    for phrase, count in counts.items():
        if " " in phrase:
            for part in (phrase.partition(" ")[2], phrase.rpartition(" ")[0]):
                longer[part] = max(longer[part], count)
    return longer


def _in_one(
    strong: Sequence[tuple[str, float, float]], counts: Mapping[str, int]
) -> list[Candidate]:
    """The spellings of one name brought together."""
    groups: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for phrase, together, free in strong:
        groups[spelling_key(phrase)].append((phrase, together, free))
    candidates = []
    for group in groups.values():
        group.sort(key=lambda one: (-counts[one[0]], one[0]))
        _, together, free = group[0]
        candidates.append(Candidate(tuple(phrase for phrase, *_ in group), together, free))
    return candidates


def _numbered(
    candidates: Sequence[Candidate], known: Mapping[str, int], telling: Collection[int]
) -> Watched:
    """Give every phrase that is looked for its number."""
    numbers = {p: number for number, c in enumerate(candidates) for p in c.spellings}
    concepts = sorted(set(known.values()))
    place = {concept: len(candidates) + i for i, concept in enumerate(concepts)}
    numbers.update((phrase, place[concept]) for phrase, concept in known.items())
    edges = {word for c in candidates for word in (c.words[0], c.words[-1])}
    size = len(candidates) + len(concepts)
    for number, word in enumerate(sorted(edges - numbers.keys()), start=size):
        numbers[word] = number
    return Watched(candidates, concepts, frozenset(place[concept] for concept in telling), numbers)
