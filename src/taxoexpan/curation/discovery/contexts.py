"""The second pass: what stands around every candidate, and what the text says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from taxoexpan.curation.discovery.candidates import Watched
from taxoexpan.curation.discovery.definitions import (
    Definition,
    abbreviates,
    abbreviations_in,
    definition_in,
)
from taxoexpan.curation.discovery.observations import KINDS, Best, Evidence, Found, Kind, improve
from taxoexpan.curation.discovery.phrase_finder import Finder, Mentions, Passage, passages_of
from taxoexpan.curation.discovery.words import Keys, pieces_of, runs_of
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import ARTICLES, BEING, POINTING, VERBAL

BEST_LENGTH = 120
"""Characters of the example or definition that is liked best."""

LONGEST_EXAMPLE = 240
_HEADING = 1000
_GENITIVES = ("'s", "\u2019s")

_NONE: Indices = np.zeros(0, np.int64)

# "that" comes behind a noun as often as behind a verb.
_BEFORE_NOUNS = (ARTICLES | POINTING) - {"that"}


def collect_evidence(
    texts: Iterator[str], keys: Keys, watched: Watched, workers: int | None = None
) -> Evidence:
    """Look at every mention of what is watched."""
    reader = _Reader(keys, watched)
    evidence = Evidence(watched.size)
    for found in map_blocks(reader.read, texts, workers):
        evidence.add(found)
    return evidence


class _Reader:
    """Reads block after block, and shows an example only if it is better than all before."""

    def __init__(self, keys: Keys, watched: Watched) -> None:
        self._keys = keys
        self._watched = watched
        bounds = sorted(VERBAL | BEING | POINTING | ARTICLES)
        self._finder = Finder(watched.numbers, keys, bounds)
        self._verbal, self._being, self._pointing, self._before_nouns = (
            self._finder.marked(words) for words in (VERBAL, BEING, POINTING, _BEFORE_NOUNS)
        )
        self._telling = np.isin(np.arange(watched.size), list(watched.telling))
        self._costs = np.full(len(watched.candidates), np.iinfo(np.int64).max)

    def read(self, texts: list[str]) -> Found:
        """What is seen in some texts."""
        found = Found(len(texts))
        seen, in_texts = [_NONE], [_NONE]
        for passage in passages_of(texts):
            codes = self._finder.codes_of(passage)
            mentions = self._finder.find(codes)
            seen += [*self._alone(codes, mentions), *self._together(passage, mentions)]
            text_of = passage.text_of[passage.sentence_of[mentions.starts]]
            in_texts.append(_distinct(text_of * self._watched.size + mentions.numbers))
            self._learn(passage, mentions, found)
        once = _distinct(np.concatenate(in_texts))  # a text may be in two passages
        seen.append(once % self._watched.size * KINDS + Kind.DOCUMENTS)
        counts = np.bincount(np.concatenate(seen))
        found.places = np.flatnonzero(counts)
        found.counts = counts[found.places]
        return found

    def _learn(self, passage: Passage, mentions: Mentions, found: Found) -> None:
        """Note what a passage says of candidates, and how it writes them."""
        own = mentions.where(mentions.numbers < len(self._watched.candidates))
        found.sentences += len(passage.sentences)
        found.forms.update(_forms(passage, own))
        found.abbreviations.update(self._abbreviations(passage, mentions))
        improve(found.examples, self._better_examples(passage, own))
        improve(found.definitions, self._definitions(passage))

    def _alone(self, codes: Indices, mentions: Mentions) -> Iterator[Indices]:
        """Where the table counts each mention, by the words before and behind it."""
        before, behind = codes[mentions.starts - 1], codes[mentions.ends]
        kinds = {
            Kind.MENTIONS: mentions.numbers >= 0,
            Kind.AT_END: behind < self._finder.codes.unknown,
            Kind.AS_VERB: self._verbal[before] | self._before_nouns[behind],
            Kind.AFTER_BEING: self._being[before],
            Kind.POINTED_AT: self._pointing[before],
        }
        for kind, counted in kinds.items():
            yield mentions.numbers[counted] * KINDS + kind

    def _together(self, passage: Passage, mentions: Mentions) -> Iterator[Indices]:
        """Where the table counts once what a sentence mentions."""
        sentences = passage.sentence_of[mentions.starts]
        telling = self._telling[mentions.numbers]
        first_end = np.full(len(passage.sentences), len(passage.pieces))
        last_start = np.zeros(len(passage.sentences), np.int64)
        np.minimum.at(first_end, sentences[telling], mentions.ends[telling])
        np.maximum.at(last_start, sentences[telling], mentions.starts[telling])
        accompanied = (first_end[sentences] <= mentions.starts) | (
            mentions.ends <= last_start[sentences]
        )
        for kind, wholes, numbers in (
            (Kind.SENTENCES, sentences, mentions.numbers),
            (Kind.IN_COMPANY, sentences[accompanied], mentions.numbers[accompanied]),
        ):
            once = _distinct(wholes * self._watched.size + numbers)
            yield once % self._watched.size * KINDS + kind

    def _better_examples(self, passage: Passage, own: Mentions) -> Best:
        """The sentences that are no worse examples of candidates than all that came before."""
        costs = np.array([abs(len(one) - BEST_LENGTH) for one in passage.sentences], np.int64)
        sentences = passage.sentence_of[own.starts]
        likely = costs[sentences] <= self._costs[own.numbers]
        for sentence in np.unique(sentences[likely]).tolist():
            if passage.is_heading(sentence):
                costs[sentence] += _HEADING  # a title says less than a sentence
        likely = costs[sentences] <= self._costs[own.numbers]
        np.minimum.at(self._costs, own.numbers[likely], costs[sentences[likely]])
        better: Best = {}
        for number, start, _ in own.where(costs[sentences] == self._costs[own.numbers]).rows():
            quote = _around(passage.sentences[passage.sentence_of[start]], passage.pieces[start])
            improve(better, {number: (int(self._costs[number]), quote)})
        return better

    def _abbreviations(self, passage: Passage, mentions: Mentions) -> Counter[tuple[int, str]]:
        """The letters in brackets behind a phrase that they abbreviate; the shortest such one."""
        shorts = dict(abbreviations_in(passage.pieces))
        named = len(self._watched.candidates) + len(self._watched.known)
        before = np.isin(mentions.ends, list(shorts)) & (mentions.numbers < named)
        meant: dict[int, tuple[int, int]] = {}
        for number, start, end in mentions.where(before).rows():
            if abbreviates(shorts[end], passage.pieces[start:end]):
                meant[end] = max(meant.get(end, (0, 0)), (start, number))
        return Counter([(number, shorts[end]) for end, (_, number) in meant.items()])

    def _definitions(self, passage: Passage) -> Best:
        """The best definitions of candidates."""
        best: Best = {}
        for definition in filter(None, map(definition_in, passage.sentences)):
            number = self._defined(definition)
            if number is not None:
                cost = 1000 * definition.rank + abs(len(definition.text) - BEST_LENGTH)
                improve(best, {number: (cost, definition.text)})
        return best

    def _defined(self, definition: Definition) -> int | None:
        """The candidate that is the subject of a definition."""
        pieces = [piece for _, found in pieces_of(definition.subject) for piece in found]
        words = [self._keys[piece] for piece in pieces]
        runs = list(runs_of(words))
        if not runs or runs[-1][1] < len(words) or (definition.whole and runs[-1][0] > 0):
            return None
        number = self._watched.numbers.get(" ".join(word for word in words[runs[-1][0] :] if word))
        return number if number is not None and number < len(self._watched.candidates) else None


def _distinct(numbers: Indices) -> Indices:
    """Each number once; `np.unique` hashes them, and takes five times as long."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _forms(passage: Passage, own: Mentions) -> Counter[tuple[int, str]]:
    """How candidates are written."""
    written = [" ".join(passage.pieces[start:end]) for _, start, end in own.rows()]
    first = passage.offsets[passage.sentence_of[own.starts]] == own.starts
    counts = Counter(zip(own.numbers.tolist(), written, first.tolist(), strict=True))
    forms: Counter[tuple[int, str]] = Counter()
    for (number, form, at_first), count in counts.items():
        if form.endswith(_GENITIVES):
            form = form[:-2]
        if at_first and form[1:].islower():
            form = form.lower()  # a capital at the beginning of a sentence says nothing
        forms[number, form] += count
    return forms


def _around(sentence: str, word: str) -> str:
    """A sentence, or where it is long the part of it around a word."""
    sentence = " ".join(sentence.split())
    if len(sentence) <= LONGEST_EXAMPLE:
        return sentence
    start = max(0, sentence.find(word) - LONGEST_EXAMPLE // 2)
    part = sentence[start : start + LONGEST_EXAMPLE]
    before, behind = start > 0, start + LONGEST_EXAMPLE < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if behind else "")
