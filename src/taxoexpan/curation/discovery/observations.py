"""The second pass over the corpus: how and where the tracked phrases are mentioned."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from taxoexpan.curation.discovery.candidates import TrackedPhrases
from taxoexpan.curation.discovery.definitions import (
    find_abbreviations,
    find_definition,
    is_abbreviation,
)
from taxoexpan.curation.discovery.words import (
    MAX_PHRASE_WORDS,
    WordKeys,
    tokenized_sentences,
    word_runs,
)
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import ARTICLES, BEING, POINTING, VERBAL

BEST_LENGTH = 120
"""The preferred number of characters of an example or definition."""

MAX_EXAMPLE_LENGTH = 240
_HEADING_COST = 1000
_GENITIVES = ("'s", "\u2019s")
# "that" follows a noun as often as a verb.
_BEFORE_NOUNS = (ARTICLES | POINTING) - {"that"}


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


_COLUMNS = len(Count)

BestTexts = dict[int, tuple[int, str]]
"""The cost and the text of the best example or definition of each phrase number."""

Mention = tuple[int, int, int]
"""The number of a phrase, and the positions of its first token and after its last token."""


@dataclass
class Observations:
    """The observations of the tracked phrases, by phrase number.

    `cells` counts the cells of a table with one row per phrase and one column per `Count`. `forms`
    are the written forms of each candidate, `abbreviations` those in brackets after a phrase.
    """

    texts: int = 0
    sentences: int = 0
    cells: Counter[int] = field(default_factory=Counter)
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    abbreviations: Counter[tuple[int, str]] = field(default_factory=Counter)
    examples: BestTexts = field(default_factory=dict)
    definitions: BestTexts = field(default_factory=dict)

    def add(self, other: Observations) -> None:
        """Add the observations in other texts."""
        self.texts += other.texts
        self.sentences += other.sentences
        self.cells.update(other.cells)
        self.forms.update(other.forms)
        self.abbreviations.update(other.abbreviations)
        keep_best(self.examples, other.examples)
        keep_best(self.definitions, other.definitions)

    def table(self, size: int) -> Indices:
        """The counts of the first `size` phrases [size, number of counts]."""
        flat = np.zeros(size * _COLUMNS, np.int64)
        kept = {cell: count for cell, count in self.cells.items() if cell < len(flat)}
        flat[list(kept)] = list(kept.values())
        return flat.reshape(size, _COLUMNS)


def keep_best(best: BestTexts, others: BestTexts) -> None:
    """Replace each text for which `others` has one with a lower cost."""
    for number, other in others.items():
        best[number] = min(best.get(number, other), other)


def observe_phrases(
    texts: Iterator[str], keys: WordKeys, tracked: TrackedPhrases, workers: int | None = None
) -> Observations:
    """Observe every mention of the tracked phrases."""
    reader = _Reader(keys, tracked)
    observations = Observations()
    for block in map_blocks(reader.read, texts, workers):
        observations.add(block)
    return observations


class _Node(dict[str | None, "_Node"]):
    """A trie node: the next words of phrases, and the number of the phrase that ends here."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = -1


class _Reader:
    """Reads one block after another; keeps an example only if it is as good as all before it."""

    def __init__(self, keys: WordKeys, tracked: TrackedPhrases) -> None:
        self._keys, self._tracked = keys, tracked
        self._trie = _Node()
        for phrase, number in tracked.numbers.items():
            node, words = self._trie, phrase.split()
            if len(words) <= MAX_PHRASE_WORDS:
                for word in words:
                    node = node.setdefault(word, _Node())
                node.number = number
        self._costs = [sys.maxsize] * len(tracked.candidates)

    def read(self, texts: list[str]) -> Observations:
        """The observations in one block of texts."""
        block = Observations(len(texts))
        mentioned = [list[int]() for _ in Count]
        forms: list[tuple[int, str, bool]] = []
        for text in texts:
            in_text: set[int] = set()
            for sentence, tokens in tokenized_sentences(text):
                block.sentences += 1
                words = [*map(self._keys.__getitem__, tokens), None]
                mentions = self._find(words)
                bounds = ["" if word else t.lower() for word, t in zip(words, tokens, strict=False)]
                _count_words_around(bounds, mentions, mentioned)
                numbers = [number for number, _, _ in mentions]
                mentioned[Count.MENTIONS] += numbers
                mentioned[Count.SENTENCES] += set(numbers)
                if not self._tracked.specific.isdisjoint(numbers):
                    mentioned[Count.WITH_KNOWN] += self._with_known(mentions)
                in_text.update(numbers)
                own = [each for each in mentions if each[0] < len(self._costs)]
                forms += [(n, " ".join(tokens[start:end]), not start) for n, start, end in own]
                self._keep_better_examples(sentence, tokens, own, block.examples)
                for meaning in self._abbreviations(tokens, mentions):
                    block.abbreviations[meaning] += 1
                keep_best(block.definitions, self._definition(sentence))
            mentioned[Count.DOCUMENTS] += in_text
        block.cells = Counter(
            {
                number * _COLUMNS + kind: count
                for kind, numbers in enumerate(mentioned)
                for number, count in Counter(numbers).items()
            }
        )
        for (number, form, is_first), count in Counter(forms).items():
            block.forms[number, _plain_form(form, is_first)] += count
        return block

    def _find(self, words: list[str | None]) -> list[Mention]:
        """The mentions in a sentence, also nested ones, given its words and None at the end."""
        mentions: list[Mention] = []
        for start, word in enumerate(words):
            node, end = self._trie.get(word), start
            while node is not None:
                end += 1
                if node.number >= 0:
                    mentions.append((node.number, start, end))
                node = node.get(words[end])
        return mentions

    def _with_known(self, mentions: list[Mention]) -> set[int]:
        """The phrases in a sentence before or after a specific name of a known concept."""
        specific = [each for each in mentions if each[0] in self._tracked.specific]
        first_end = min(end for _, _, end in specific)
        last_start = max(start for _, start, _ in specific)
        return {n for n, start, end in mentions if first_end <= start or end <= last_start}

    def _keep_better_examples(
        self, sentence: str, tokens: list[str], own: list[Mention], examples: BestTexts
    ) -> None:
        """Keep a sentence that is at least as good an example of candidates as all before it."""
        costs, cost = self._costs, abs(len(sentence) - BEST_LENGTH)
        good = [(number, tokens[start]) for number, start, _ in own if cost <= costs[number]]
        if not good:
            return
        if 2 * sum(token[0].isupper() for token in tokens) > len(tokens):
            cost += _HEADING_COST  # a heading is less informative than a sentence
        joined = " ".join(sentence.split())
        # A sentence may be very long and mention the same phrase many times.
        for number, word in dict.fromkeys(good):
            if cost <= costs[number]:
                costs[number] = cost
                keep_best(examples, {number: (cost, _around(joined, word))})

    def _abbreviations(self, tokens: list[str], mentions: list[Mention]) -> list[tuple[int, str]]:
        """The abbreviations in brackets with the number of the shortest phrase they abbreviate."""
        shorts = dict(find_abbreviations(tokens)) if "(" in tokens else {}
        if not shorts:
            return []
        name_count = len(self._tracked.candidates) + len(self._tracked.known)
        meanings: dict[int, tuple[int, int]] = {}
        for number, start, end in mentions:
            is_name = end in shorts and number < name_count
            if is_name and is_abbreviation(shorts[end], tokens[start:end]):
                meanings[end] = max(meanings.get(end, (0, 0)), (start, number))
        return [(number, shorts[end]) for end, (_, number) in meanings.items()]

    def _definition(self, sentence: str) -> BestTexts:
        """The definition in a sentence, if its subject is a candidate."""
        definition = find_definition(sentence)
        if definition is None:
            return {}
        subject = tokenized_sentences(definition.subject)
        words = [self._keys[token] for _, tokens in subject for token in tokens]
        runs = list(word_runs(words))
        if not runs or runs[-1][1] < len(words) or (definition.whole and runs[-1][0] > 0):
            return {}
        number = self._tracked.numbers.get(
            " ".join(word for word in words[runs[-1][0] :] if word), -1
        )
        cost = 1000 * definition.rank + abs(len(definition.text) - BEST_LENGTH)
        return {number: (cost, definition.text)} if 0 <= number < len(self._costs) else {}


def _count_words_around(
    bounds: list[str], mentions: list[Mention], mentioned: list[list[int]]
) -> None:
    """Add the numbers of mentions to the lists of the words before and after them.

    `bounds` are the phrase boundaries of a sentence in lower case, and empty texts for its words.
    """
    bounds.append(".")  # after the last token, and so at -1, before the first
    at_end, as_verb = mentioned[Count.AT_END], mentioned[Count.AS_VERB]
    for number, start, end in mentions:
        before, after = bounds[start - 1], bounds[end]
        if after:
            at_end.append(number)
        if before in VERBAL or after in _BEFORE_NOUNS:
            as_verb.append(number)
        if before in BEING:
            mentioned[Count.AFTER_BEING].append(number)
        if before in POINTING:
            mentioned[Count.AFTER_POINTING].append(number)


def _plain_form(form: str, is_first: bool) -> str:
    """A written form of a phrase, without a genitive ending."""
    if form.endswith(_GENITIVES):
        form = form[:-2]
    # A capital letter at the start of a sentence is not informative.
    return form.lower() if is_first and form[1:].islower() else form


def _around(sentence: str, word: str) -> str:
    """A sentence, or the part around a word if the sentence is long."""
    if len(sentence) <= MAX_EXAMPLE_LENGTH:
        return sentence
    start = max(0, sentence.find(word) - MAX_EXAMPLE_LENGTH // 2)
    part = sentence[start : start + MAX_EXAMPLE_LENGTH]
    before, after = start > 0, start + MAX_EXAMPLE_LENGTH < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if after else "")
