"""The second pass: what stands around every candidate, and what the text says of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from taxoexpan.adjacency import Indices
from taxoexpan.corpus import in_blocks
from taxoexpan.discovery.candidates import Watched
from taxoexpan.discovery.definitions import abbreviates, abbreviations_in, definition_in
from taxoexpan.discovery.words import (
    ARTICLES,
    BEING,
    LONGEST,
    POINTING,
    VERBAL,
    Keys,
    pieces_of,
    runs_of,
)

BEST_LENGTH = 120
"""Characters of the example or definition that is liked best."""

LONGEST_EXAMPLE = 240
_HEADING = 1000
_GENITIVE = re.compile(r"['\u2019]s$")

# "that" comes behind a noun as often as behind a verb.
_BEFORE_NOUNS = (ARTICLES | POINTING) - {"that"}


class Kind(IntEnum):
    """What is counted of a phrase."""

    MENTIONS = 0
    DOCUMENTS = 1
    SENTENCES = 2
    IN_COMPANY = 3  # sentences that name a known concept beside it
    AT_END = 4  # mentions after which no word of the same run comes
    AS_VERB = 5  # mentions after we, to, can, or before an article
    AFTER_BEING = 6
    POINTED_AT = 7  # mentions after this, our, their


KINDS = len(Kind)


class Mention(NamedTuple):
    """A watched phrase in a sentence: its number, its place, and the run of words it stands in."""

    number: int
    start: int
    end: int
    run_start: int
    run_end: int


@dataclass
class Evidence:
    """What was seen of the watched phrases, by their numbers.

    `counts` are keyed by number × KINDS + `Kind`. `examples` and `definitions` hold the best one,
    behind how far it is from what is liked; `forms` are the ways in which a candidate is written,
    `abbreviations` the letters in brackets behind a phrase.
    """

    texts: int = 0
    sentences: int = 0
    counts: Counter[int] = field(default_factory=Counter)
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    abbreviations: Counter[tuple[int, str]] = field(default_factory=Counter)
    examples: dict[int, tuple[int, str]] = field(default_factory=dict)
    definitions: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, other: Evidence) -> None:
        """Take over what was seen elsewhere."""
        self.texts += other.texts
        self.sentences += other.sentences
        self.counts.update(other.counts)
        self.forms.update(other.forms)
        self.abbreviations.update(other.abbreviations)
        for own, others in (
            (self.examples, other.examples),
            (self.definitions, other.definitions),
        ):
            for number, found in others.items():
                own[number] = min(own.get(number, found), found)

    def table(self, size: int) -> Indices:
        """The counts of the first `size` phrases, one row a phrase and one column a `Kind`."""
        table = np.zeros((size, KINDS), np.int64)
        for place, count in self.counts.items():
            table.flat[place] = count
        return table


def collect_evidence(
    texts: Iterator[str], keys: Keys, watched: Watched, workers: int | None = None
) -> Evidence:
    """Look at every mention of what is watched."""

    def read(block: list[str]) -> Evidence:
        evidence = Evidence()
        for text in block:
            _read_text(text, keys, watched, evidence)
        return evidence

    evidence = Evidence()
    for found in in_blocks(read, texts, workers):
        evidence.add(found)
    return evidence


def _read_text(text: str, keys: Keys, watched: Watched, evidence: Evidence) -> None:
    evidence.texts += 1
    mentioned: set[int] = set()
    for sentence, pieces in pieces_of(text):
        evidence.sentences += 1
        words = [keys[piece] for piece in pieces]
        mentions = _mentions(words, watched)
        if mentions:
            mentioned.update(mention.number for mention in mentions)
            _count(pieces, mentions, watched, evidence)
            _quote(sentence, pieces, mentions, watched, evidence)
            _learn_abbreviations(pieces, mentions, watched, evidence)
            _learn_definition(sentence, keys, watched, evidence)
    evidence.counts.update([number * KINDS + Kind.DOCUMENTS for number in mentioned])


def _mentions(words: list[str | None], watched: Watched) -> list[Mention]:
    numbers, mentions = watched.numbers, []
    for run_start, run_end in runs_of(words):
        for start in range(run_start, run_end):
            phrase = f"{words[start]}"
            end = start + 1
            while True:
                number = numbers.get(phrase)
                if number is not None:
                    mentions.append(Mention(number, start, end, run_start, run_end))
                if end == run_end or end == start + LONGEST:
                    break
                phrase = f"{phrase} {words[end]}"
                end += 1
    return mentions


def _count(
    pieces: list[str], mentions: list[Mention], watched: Watched, evidence: Evidence
) -> None:
    """Count the mentions of a sentence, and what they stand beside."""
    seen = [m.number * KINDS + kind for m in mentions for kind in _surroundings(pieces, m)]
    seen += {mention.number * KINDS + Kind.SENTENCES for mention in mentions}
    telling = [mention for mention in mentions if mention.number in watched.telling]
    if telling:
        first_end = min(mention.end for mention in telling)
        last_start = max(mention.start for mention in telling)
        seen += {
            mention.number * KINDS + Kind.IN_COMPANY
            for mention in mentions
            if first_end <= mention.start or mention.end <= last_start
        }
    evidence.counts.update(seen)


def _surroundings(pieces: list[str], mention: Mention) -> list[Kind]:
    """What a mention counts as, by the words before and behind it."""
    _, start, end, run_start, run_end = mention
    kinds = [Kind.MENTIONS]
    verbal = False
    if start == run_start and start > 0:
        before = pieces[start - 1].lower()
        verbal = before in VERBAL
        if before in BEING:
            kinds.append(Kind.AFTER_BEING)
        elif before in POINTING:
            kinds.append(Kind.POINTED_AT)
    if end == run_end:
        kinds.append(Kind.AT_END)
        verbal |= end < len(pieces) and pieces[end].lower() in _BEFORE_NOUNS
    if verbal:
        kinds.append(Kind.AS_VERB)
    return kinds


def _quote(
    sentence: str,
    pieces: list[str],
    mentions: list[Mention],
    watched: Watched,
    evidence: Evidence,
) -> None:
    """Note how the candidates are written here, and whether the sentence is the better example."""
    cost = abs(len(sentence) - BEST_LENGTH)
    if 2 * sum(piece[0].isupper() for piece in pieces) > len(pieces):
        cost += _HEADING  # a title says less than a sentence
    for mention in mentions:
        if mention.number >= len(watched.candidates):
            continue
        form = _GENITIVE.sub("", " ".join(pieces[mention.start : mention.end]))
        if mention.start == 0 and form[1:].islower():
            form = form.lower()  # a capital at the beginning of a sentence says nothing
        evidence.forms[mention.number, form] += 1
        best = evidence.examples.get(mention.number)
        if best is None or cost <= best[0]:
            found = (cost, _around(sentence, pieces[mention.start]))
            evidence.examples[mention.number] = min(best or found, found)


def _around(sentence: str, word: str) -> str:
    """A sentence, or where it is long the part of it around a word."""
    sentence = " ".join(sentence.split())
    if len(sentence) <= LONGEST_EXAMPLE:
        return sentence
    start = max(0, sentence.find(word) - LONGEST_EXAMPLE // 2)
    part = sentence[start : start + LONGEST_EXAMPLE]
    before, behind = start > 0, start + LONGEST_EXAMPLE < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if behind else "")


def _learn_abbreviations(
    pieces: list[str], mentions: list[Mention], watched: Watched, evidence: Evidence
) -> None:
    """Note the letters in brackets behind a phrase that they abbreviate; the shortest such one."""
    for place, short in abbreviations_in(pieces):
        meant = [
            mention
            for mention in mentions
            if mention.end == place
            and mention.number < len(watched.candidates) + len(watched.known)
            and abbreviates(short, pieces[mention.start : place])
        ]
        if meant:
            mention = max(meant, key=lambda mention: mention.start)
            evidence.abbreviations[mention.number, short] += 1


def _learn_definition(sentence: str, keys: Keys, watched: Watched, evidence: Evidence) -> None:
    """Keep the definition of a candidate if it is better than what there is."""
    definition = definition_in(sentence)
    if definition is None:
        return
    words = [keys[piece] for _, pieces in pieces_of(definition.subject) for piece in pieces]
    runs = list(runs_of(words))
    if not runs or runs[-1][1] < len(words) or (definition.whole and runs[-1][0] > 0):
        return
    number = watched.numbers.get(" ".join(word for word in words[runs[-1][0] :] if word))
    if number is None or number >= len(watched.candidates):
        return
    cost = 1000 * definition.rank + abs(len(definition.text) - BEST_LENGTH)
    found = (cost, definition.text)
    evidence.definitions[number] = min(evidence.definitions.get(number, found), found)
