"""The second pass over the corpus: the contexts, examples and definitions of the candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from taxoexpan.curation.discovery.candidates import TrackedPhrases
from taxoexpan.curation.discovery.definitions import (
    Definition,
    find_abbreviations,
    find_definition,
    is_abbreviation,
)
from taxoexpan.curation.discovery.observations import (
    COUNTS,
    BestTexts,
    BlockObservations,
    Count,
    Observations,
    keep_best,
)
from taxoexpan.curation.discovery.phrase_finder import (
    Passage,
    PhraseFinder,
    PhraseMentions,
    split_into_passages,
)
from taxoexpan.curation.discovery.words import WordKeys, tokenized_sentences, word_runs
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import ARTICLES, BEING, POINTING, VERBAL

BEST_LENGTH = 120
"""The preferred number of characters of an example or definition."""

MAX_EXAMPLE_LENGTH = 240
_HEADING_COST = 1000
_GENITIVES = ("'s", "\u2019s")

_EMPTY: Indices = np.zeros(0, np.int64)

# "that" follows a noun as often as a verb.
_BEFORE_NOUNS = (ARTICLES | POINTING) - {"that"}


def observe_phrases(
    texts: Iterator[str], keys: WordKeys, tracked: TrackedPhrases, workers: int | None = None
) -> Observations:
    """Observe every mention of the tracked phrases."""
    reader = _Reader(keys, tracked)
    observations = Observations(tracked.size)
    for block in map_blocks(reader.read, texts, workers):
        observations.add(block)
    return observations


class _Reader:
    """Reads one block after another; keeps an example only if it is as good as all before it."""

    def __init__(self, keys: WordKeys, tracked: TrackedPhrases) -> None:
        self._keys = keys
        self._tracked = tracked
        boundaries = sorted(VERBAL | BEING | POINTING | ARTICLES)
        self._finder = PhraseFinder(tracked.numbers, keys, boundaries)
        self._verbal, self._being, self._pointing, self._before_nouns = (
            self._finder.mask(words) for words in (VERBAL, BEING, POINTING, _BEFORE_NOUNS)
        )
        self._specific = np.isin(np.arange(tracked.size), list(tracked.specific))
        self._costs = np.full(len(tracked.candidates), np.iinfo(np.int64).max)

    def read(self, texts: list[str]) -> BlockObservations:
        """The observations in one block of texts."""
        block = BlockObservations(len(texts))
        cells, in_texts = [_EMPTY], [_EMPTY]
        for passage in split_into_passages(texts):
            codes = self._finder.codes_of(passage)
            mentions = self._finder.find(codes)
            cells += [*self._per_mention(codes, mentions), *self._per_sentence(passage, mentions)]
            text_of = passage.text_of[passage.sentence_of[mentions.starts]]
            in_texts.append(_distinct(text_of * self._tracked.size + mentions.numbers))
            self._observe_texts(passage, mentions, block)
        once = _distinct(np.concatenate(in_texts))  # a text may be in two passages
        cells.append(once % self._tracked.size * COUNTS + Count.DOCUMENTS)
        counts = np.bincount(np.concatenate(cells))
        block.cells = np.flatnonzero(counts)
        block.counts = counts[block.cells]
        return block

    def _observe_texts(
        self, passage: Passage, mentions: PhraseMentions, block: BlockObservations
    ) -> None:
        """Collect forms, abbreviations, examples and definitions of candidates in a passage."""
        own = mentions.where(mentions.numbers < len(self._tracked.candidates))
        block.sentences += len(passage.sentences)
        block.forms.update(_forms(passage, own))
        block.abbreviations.update(self._abbreviations(passage, mentions))
        keep_best(block.examples, self._better_examples(passage, own))
        keep_best(block.definitions, self._definitions(passage))

    def _per_mention(self, codes: Indices, mentions: PhraseMentions) -> Iterator[Indices]:
        """The table cells that count single mentions by the words before and after them."""
        before, after = codes[mentions.starts - 1], codes[mentions.ends]
        conditions = {
            Count.MENTIONS: mentions.numbers >= 0,
            Count.AT_END: after < self._finder.codes.unknown,
            Count.AS_VERB: self._verbal[before] | self._before_nouns[after],
            Count.AFTER_BEING: self._being[before],
            Count.AFTER_POINTING: self._pointing[before],
        }
        for column, condition in conditions.items():
            yield mentions.numbers[condition] * COUNTS + column

    def _per_sentence(self, passage: Passage, mentions: PhraseMentions) -> Iterator[Indices]:
        """The table cells that count sentences."""
        sentences = passage.sentence_of[mentions.starts]
        specific = self._specific[mentions.numbers]
        first_end = np.full(len(passage.sentences), len(passage.tokens))
        last_start = np.zeros(len(passage.sentences), np.int64)
        np.minimum.at(first_end, sentences[specific], mentions.ends[specific])
        np.maximum.at(last_start, sentences[specific], mentions.starts[specific])
        with_known = (first_end[sentences] <= mentions.starts) | (
            mentions.ends <= last_start[sentences]
        )
        for column, own_sentences, numbers in (
            (Count.SENTENCES, sentences, mentions.numbers),
            (Count.WITH_KNOWN, sentences[with_known], mentions.numbers[with_known]),
        ):
            once = _distinct(own_sentences * self._tracked.size + numbers)
            yield once % self._tracked.size * COUNTS + column

    def _better_examples(self, passage: Passage, own: PhraseMentions) -> BestTexts:
        """The sentences that are at least as good examples of candidates as all before them."""
        costs = np.array([abs(len(text) - BEST_LENGTH) for text in passage.sentences], np.int64)
        sentences = passage.sentence_of[own.starts]
        good = costs[sentences] <= self._costs[own.numbers]
        for sentence in np.unique(sentences[good]).tolist():
            if passage.is_heading(sentence):
                costs[sentence] += _HEADING_COST  # a heading is less informative than a sentence
        good = costs[sentences] <= self._costs[own.numbers]
        np.minimum.at(self._costs, own.numbers[good], costs[sentences[good]])
        best = costs[sentences] == self._costs[own.numbers]
        # A sentence may be very long and mention the same phrase many times.
        distinct = dict.fromkeys(
            (number, sentence, passage.tokens[start])
            for sentence, (number, start, _) in zip(
                sentences[best].tolist(), own.where(best).rows(), strict=True
            )
        )
        joined: dict[int, str] = {}
        better: BestTexts = {}
        for number, sentence, word in distinct:
            if sentence not in joined:
                joined[sentence] = " ".join(passage.sentences[sentence].split())
            quote = _around(joined[sentence], word)
            keep_best(better, {number: (int(self._costs[number]), quote)})
        return better

    def _abbreviations(
        self, passage: Passage, mentions: PhraseMentions
    ) -> Counter[tuple[int, str]]:
        """The abbreviations in brackets with the number of the shortest phrase they abbreviate."""
        shorts = dict(find_abbreviations(passage.tokens))
        name_count = len(self._tracked.candidates) + len(self._tracked.known)
        before = np.isin(mentions.ends, list(shorts)) & (mentions.numbers < name_count)
        meanings: dict[int, tuple[int, int]] = {}
        for number, start, end in mentions.where(before).rows():
            if is_abbreviation(shorts[end], passage.tokens[start:end]):
                meanings[end] = max(meanings.get(end, (0, 0)), (start, number))
        return Counter([(number, shorts[end]) for end, (_, number) in meanings.items()])

    def _definitions(self, passage: Passage) -> BestTexts:
        """The best definitions of candidates in a passage."""
        best: BestTexts = {}
        for definition in filter(None, map(find_definition, passage.sentences)):
            number = self._defined_candidate(definition)
            if number is not None:
                cost = 1000 * definition.rank + abs(len(definition.text) - BEST_LENGTH)
                keep_best(best, {number: (cost, definition.text)})
        return best

    def _defined_candidate(self, definition: Definition) -> int | None:
        """The number of the candidate that is the subject of a definition."""
        subject = tokenized_sentences(definition.subject)
        words = [self._keys[token] for _, tokens in subject for token in tokens]
        runs = list(word_runs(words))
        if not runs or runs[-1][1] < len(words) or (definition.whole and runs[-1][0] > 0):
            return None
        number = self._tracked.numbers.get(" ".join(word for word in words[runs[-1][0] :] if word))
        return number if number is not None and number < len(self._tracked.candidates) else None


def _distinct(numbers: Indices) -> Indices:
    """Return each number once; `np.unique` uses hashing, which takes five times as long here."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _forms(passage: Passage, own: PhraseMentions) -> Counter[tuple[int, str]]:
    """The written forms of candidates, by number."""
    written = [" ".join(passage.tokens[start:end]) for _, start, end in own.rows()]
    first = passage.offsets[passage.sentence_of[own.starts]] == own.starts
    counts = Counter(zip(own.numbers.tolist(), written, first.tolist(), strict=True))
    forms: Counter[tuple[int, str]] = Counter()
    for (number, form, is_first), count in counts.items():
        if form.endswith(_GENITIVES):
            form = form[:-2]
        if is_first and form[1:].islower():
            form = form.lower()  # a capital letter at the start of a sentence is not informative
        forms[number, form] += count
    return forms


def _around(sentence: str, word: str) -> str:
    """A sentence, or the part around a word if the sentence is long."""
    if len(sentence) <= MAX_EXAMPLE_LENGTH:
        return sentence
    start = max(0, sentence.find(word) - MAX_EXAMPLE_LENGTH // 2)
    part = sentence[start : start + MAX_EXAMPLE_LENGTH]
    before, after = start > 0, start + MAX_EXAMPLE_LENGTH < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if after else "")
