"""The first pass over the corpus: counts of phrases, and the candidates among them.

Candidates are phrases that may be new concepts. Phrases are counted in bounded memory.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.sentences import split_sentences
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_PHRASE_WORDS = 4
MAX_CACHED_WORDS = 500_000

CAPACITY = 2_000_000
"""Phrases that are counted at the same time; they take about 400 MB."""

BATCH_SIZE = 1 << 16
"""Phrases that are collected before they are counted; a text may be a whole book."""

_TOKEN = re.compile(
    r"\\[A-Za-z]+|https?://\S+"  # LaTeX commands and URLs, which are not words
    r"|[^\W_]++(?:(?:[-'\u2019\u2010\u2011]|(?<=\d)\.(?=\d))[^\W_]++)*+|[^\s\w]"
)
_NOT_A_WORD = re.compile(r"\\|https?://")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_PLURAL_LETTERS = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z\d-]*[A-Z\d]s")
_SPELLINGS = (("z", "s"), ("our", "or"), ("elling", "eling"), ("elled", "eled"), ("ogue", "og"))
_MIN_RESPELLED_LENGTH = 6
"""In shorter words these letters distinguish words: tour and tor, prize and prise."""


class WordKeys(dict[str, str | None]):
    """A cache of word keys: the same key for all forms of a word, None for a phrase boundary.

    Boundaries are stop words, punctuation, numbers, and words with -ly that are not in `kept`.
    """

    def __init__(self, kept: Collection[str] = ()) -> None:
        super().__init__()
        self._kept = frozenset(kept)

    def __missing__(self, token: str) -> str | None:
        """Compute the key of a token and cache it."""
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()  # a large corpus has an unlimited number of misspelled words
        word = _plain(token)
        is_bound = word in STOP_WORDS or "'" in word or _NOT_A_WORD.match(token)
        if is_bound or not any(map(str.isalpha, word)):
            key = None
        else:
            key = word_key(token)
            if word.endswith("ly") and key not in self._kept:
                key = None
        self[token] = key
        return key


def word_key(token: str) -> str:
    """Return a token in lower case and singular, without a genitive ending."""
    if _PLURAL_LETTERS.fullmatch(token):  # LLMs
        return token[:-1].lower()
    return singular(_plain(token))


def _plain(token: str) -> str:
    """Return a token in lower case, without a genitive ending."""
    signs = token if token.isascii() else token.translate(_SIGNS)
    return signs.lower().removesuffix("'s")


def tokenized_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every sentence of a text with its tokens, which are words and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for sentence in split_sentences(text):
        yield sentence, _TOKEN.findall(sentence)


def phrase_key(name: str) -> str:
    """Return a name in lower case without spaces and hyphens, with all words in the singular."""
    return "".join(map(singular, normalize_name(name).split()))


def spelling_key(name: str) -> str:
    """Return a `phrase_key` that is the same for British and American spelling."""
    key = ""
    for word in map(singular, normalize_name(name).split()):
        for one, other in _SPELLINGS if len(word) >= _MIN_RESPELLED_LENGTH else ():
            word = word.replace(one, other)
        key += word
    return key


class PhraseCounts:
    """Counts of phrases, too low by at most `max_error`, because rare phrases are dropped."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.counts: dict[str, int] = {}
        self.max_error = 0
        self._capacity = capacity

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts, and drop rare phrases if the capacity is exceeded."""
        own = self.counts
        for phrase, count in counts.items():
            own[phrase] = own.get(phrase, 0) + count
        if len(own) > self._capacity:
            self._drop_rare()

    def _drop_rare(self) -> None:
        """Keep only the most frequent phrases, at most half of the capacity."""
        counts = np.fromiter(self.counts.values(), np.int64, count=len(self.counts))
        position = len(counts) - max(1, self._capacity // 2)
        threshold = int(np.partition(counts, position)[position])
        self.counts = {phrase: n for phrase, n in self.counts.items() if n > threshold}
        self.max_error += threshold


def count_phrases(
    texts: Iterator[str], keys: WordKeys, workers: int | None = None, capacity: int = CAPACITY
) -> PhraseCounts:
    """Count the phrases of a corpus by key, including phrases one word longer than candidates."""

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
    """Return every phrase of a sentence, once per mention."""
    phrases = []
    words = [keys[token] for token in tokens]
    for second, phrase in enumerate(words, 1):
        if phrase is not None:
            phrases.append(phrase)
            for word in words[second : second + MAX_PHRASE_WORDS]:
                if word is None:
                    break
                phrase = f"{phrase} {word}"
                phrases.append(phrase)
    return phrases


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
    longer: dict[str, int] = defaultdict(int)  # the most frequent phrase with one more word
    for phrase, count in counts.items():
        if " " in phrase:
            for part in (phrase.partition(" ")[2], phrase.rpartition(" ")[0]):
                longer[part] = max(longer[part], count)
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
