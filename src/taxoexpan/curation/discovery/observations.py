"""The second pass over the corpus: mentions, definitions and abbreviations of tracked phrases."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from taxoexpan.curation.discovery.candidates import (
    MAX_PHRASE_WORDS,
    TrackedPhrases,
    WordKeys,
    tokenized_sentences,
)
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import ARTICLES, BEING, POINTING, STOP_WORDS, VERBAL

BEST_LENGTH = 120
"""The preferred number of characters of an example or definition."""

MAX_EXAMPLE_LENGTH = 240
_HEADING_COST = 1000
_GENITIVES = ("'s", "\u2019s")
# "that" follows a noun as often as a verb.
_BEFORE_NOUNS = (ARTICLES | POINTING) - {"that"}


class Count(IntEnum):
    """The kinds of counts of a phrase."""

    MENTIONS = 0
    DOCUMENTS = 1
    SENTENCES = 2
    WITH_KNOWN = 3  # sentences that also mention a known concept
    AT_END = 4  # mentions at the end of a run of words
    AS_VERB = 5  # mentions after we, to, can, or before an article
    AFTER_BEING = 6  # mentions after is, are, was
    AFTER_POINTING = 7  # mentions after this, our, their


BestTexts = dict[int, tuple[int, str]]
"""The cost and the text of the best example or definition of each phrase number."""

Mention = tuple[int, int, int]
"""The number of a phrase, and the positions of its first token and after its last token."""


@dataclass
class Observations:
    """The observations of the tracked phrases; `counts` has the shape [kinds of count, phrases]."""

    counts: Indices
    texts: int = 0
    sentences: int = 0
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    abbreviations: Counter[tuple[int, str]] = field(default_factory=Counter)
    examples: BestTexts = field(default_factory=dict)
    definitions: BestTexts = field(default_factory=dict)

    def add(self, other: Observations) -> None:
        """Add the observations of other texts."""
        self.counts += other.counts
        self.texts += other.texts
        self.sentences += other.sentences
        self.forms.update(other.forms)
        self.abbreviations.update(other.abbreviations)
        keep_best(self.examples, other.examples)
        keep_best(self.definitions, other.definitions)


def keep_best(best: BestTexts, others: BestTexts) -> None:
    """Replace each text if `others` has one with a lower cost."""
    for number, other in others.items():
        best[number] = min(best.get(number, other), other)


def observe_phrases(
    texts: Iterator[str], keys: WordKeys, tracked: TrackedPhrases, workers: int | None = None
) -> Observations:
    """Observe every mention of the tracked phrases."""
    reader = _Reader(keys, tracked)
    observations = Observations(np.zeros((len(Count), tracked.size), np.int64))
    for block in map_blocks(reader.read, texts, workers):
        observations.add(block)
    return observations


class _Node(dict[str | None, "_Node"]):
    """A trie node: the next words of phrases, and the number of the phrase that ends here."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = -1


class _Reader:
    """A reader of blocks, which keeps an example only if no earlier example is better."""

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
        """Return the observations in one block of texts."""
        block = Observations(np.zeros(0, np.int64), len(texts))
        counted = [list[int]() for _ in Count]
        forms: list[tuple[int, str, bool]] = []
        for text in texts:
            first = len(counted[Count.MENTIONS])
            for sentence, tokens in tokenized_sentences(text):
                block.sentences += 1
                tokens.append(".")  # after the last word, and so at -1, before the first
                mentions = self._mentions(tokens, counted)
                own = [each for each in mentions if each[0] < len(self._costs)]
                forms += [(n, " ".join(tokens[start:end]), not start) for n, start, end in own]
                self._keep_better_examples(sentence, tokens, own, block.examples)
                if "(" in tokens:
                    block.abbreviations.update(self._abbreviations(tokens, mentions))
                definition = find_definition(sentence)
                if definition is not None:
                    keep_best(block.definitions, self._defined_candidate(definition))
            counted[Count.DOCUMENTS] += set(counted[Count.MENTIONS][first:])
        size = self._tracked.size
        block.counts = np.array([np.bincount(numbers, minlength=size) for numbers in counted])
        for (number, form, is_first), count in Counter(forms).items():
            block.forms[number, _plain_form(form, is_first)] += count
        return block

    def _mentions(self, tokens: list[str], counted: list[list[int]]) -> list[Mention]:
        """Return all mentions in a sentence, nested ones too, and add them to `counted`."""
        words = list(map(self._keys.__getitem__, tokens))
        mentions: list[Mention] = []
        for start, node in enumerate(map(self._trie.get, words)):
            end = start
            while node is not None:
                end += 1
                if node.number >= 0:
                    mentions.append((node.number, start, end))
                node = node.get(words[end])
        numbers = [number for number, _, _ in mentions]
        everywhere, _, sentences, with_known, at_end, as_verb, after_being, after_pointing = counted
        everywhere += numbers
        sentences += set(numbers)
        if not self._tracked.specific.isdisjoint(numbers):
            with_known += self._with_known(mentions)
        for number, start, end in mentions:
            after = None if words[end] else tokens[end].lower()
            if after:
                at_end.append(number)
            before = None if words[start - 1] else tokens[start - 1].lower()
            if before in VERBAL or after in _BEFORE_NOUNS:
                as_verb.append(number)
            if before in BEING:
                after_being.append(number)
            elif before in POINTING:
                after_pointing.append(number)
        return mentions

    def _with_known(self, mentions: list[Mention]) -> set[int]:
        """Return the phrases before or after a specific name of a known concept in a sentence."""
        specific = [each for each in mentions if each[0] in self._tracked.specific]
        first_end = min(end for _, _, end in specific)
        last_start = max(start for _, start, _ in specific)
        return {n for n, start, end in mentions if first_end <= start or end <= last_start}

    def _keep_better_examples(
        self, sentence: str, tokens: list[str], own: list[Mention], examples: BestTexts
    ) -> None:
        """Keep a sentence as an example of candidates if no earlier example is better."""
        costs, cost = self._costs, abs(len(sentence) - BEST_LENGTH)
        good = [(number, tokens[start]) for number, start, _ in own if cost <= costs[number]]
        if not good:
            return
        if 2 * sum(token[0].isupper() for token in tokens) > len(tokens) - 1:
            cost += _HEADING_COST  # a heading is less informative than a sentence
        joined = " ".join(sentence.split())
        # A sentence may be very long and mention the same phrase many times.
        for number, word in dict.fromkeys(good):
            if cost <= costs[number]:
                costs[number] = cost
                keep_best(examples, {number: (cost, _around(joined, word))})

    def _abbreviations(self, tokens: list[str], mentions: list[Mention]) -> list[tuple[int, str]]:
        """Return the abbreviations in brackets, each with the number of its shortest phrase."""
        shorts = dict(find_abbreviations(tokens))
        name_count = len(self._tracked.candidates) + len(self._tracked.known)
        meanings: dict[int, tuple[int, int]] = {}
        for number, start, end in mentions if shorts else ():
            is_name = end in shorts and number < name_count
            if is_name and is_abbreviation(shorts[end], tokens[start:end]):
                meanings[end] = max(meanings.get(end, (0, 0)), (start, number))
        return [(number, shorts[end]) for end, (_, number) in meanings.items()]

    def _defined_candidate(self, definition: Definition) -> BestTexts:
        """Return the cost and text of a definition by candidate, if its subject is a candidate."""
        subject = tokenized_sentences(definition.subject)
        words = [self._keys[token] for _, tokens in subject for token in tokens]
        last_bound = max((i for i, word in enumerate(words) if word is None), default=-1)
        if definition.whole and last_bound >= 0:
            return {}
        phrase = " ".join(word for word in words[last_bound + 1 :] if word)
        number = self._tracked.numbers.get(phrase, -1)
        cost = 1000 * definition.rank + abs(len(definition.text) - BEST_LENGTH)
        return {number: (cost, definition.text)} if 0 <= number < len(self._costs) else {}


def _plain_form(form: str, is_first: bool) -> str:
    """Return a written form of a phrase, without a genitive ending."""
    if form.endswith(_GENITIVES):
        form = form[:-2]
    # A capital letter at the start of a sentence is not informative.
    return form.lower() if is_first and form[1:].islower() else form


def _around(sentence: str, word: str) -> str:
    """Return a sentence, or the part around a word if the sentence is long."""
    if len(sentence) <= MAX_EXAMPLE_LENGTH:
        return sentence
    start = max(0, sentence.find(word) - MAX_EXAMPLE_LENGTH // 2)
    part = sentence[start : start + MAX_EXAMPLE_LENGTH]
    before, after = start > 0, start + MAX_EXAMPLE_LENGTH < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if after else "")


MIN_DEFINITION_LENGTH = 25
MAX_DEFINITION_LENGTH = 300
MAX_SENTENCE_LENGTH = 600
MAX_ABBREVIATION_LENGTH = 10

_SUBJECT = r"(?:an? )?(?P<subject>[^\s,;:()][^,;:()]{0,60}?)(?: ?\([^()]{1,20}\))?"
_KIND = r"(?P<kind>(?: [\w-]+){1,6}?)"
_RESTRICTION = (
    r"(?:that|which|who|whose|where|(?:in|by) which|of|for|to|from|used (?:to|for|in|by|as)) \S.*"
)
_PATTERNS = tuple(
    re.compile(rf"^{_SUBJECT},? {pattern}", re.IGNORECASE)
    for pattern in (
        r"(?:refers? to|denotes?|(?:is|are|can be) defined as) (?P<text>\S.*)",
        rf"is (?P<text>(?:an?|the|any|one of the){_KIND} {_RESTRICTION})",
        r"are(?P<text>(?P<kind>(?: [\w-]+){0,4}? [\w-]+s) (?:that|which|whose) \S.*)",
        r"(?P<text>aims? (?:to|at) \S.*)",
    )
)
_START = re.compile(rf"^{_SUBJECT},? (?:refers?|denotes?|is|are|can|aims?) ", re.IGNORECASE)
"""The start of all patterns, which excludes most sentences with a single match."""

_APPOSITION = re.compile(rf", (?P<text>an?{_KIND} (?:that|which|whose|in which) [^,;:]+)[,;.]")
_EVALUATIVE = re.compile(
    r"\b(?:important|challenging|challenge|crucial|key|essential|fundamental|difficult|popular|"
    r"promising|common|major|critical|central|powerful|useful|effective|hard|hot|interesting|"
    r"significant|main|serious|necessary|great|big|vital|integral|active|emerging|growing|new|"
    r"recent|first|only|most|best|core|longstanding|long-standing|well-known|non-trivial|hallmark|prevalent|basic|research)\b"
)
"""Words that evaluate a thing instead of defining it."""

_MISSING_SPACE = re.compile(r"(?<=[a-z])\.(?=[A-Z][a-z]* )")
_ALLOWED_STOP_WORDS = frozenset(["used", "based"])


class Definition(NamedTuple):
    """A definition and its subject, or if not `whole`, a text that ends with the subject.

    A lower rank means a more reliable pattern.
    """

    rank: int
    subject: str
    text: str
    whole: bool


def find_definition(sentence: str) -> Definition | None:
    """Return the definition in a sentence, if there is one."""
    if len(sentence) > MAX_SENTENCE_LENGTH:
        return None
    for rank, pattern in enumerate(_PATTERNS if _START.match(sentence) else ()):
        match = pattern.match(sentence)
        if match is not None and (text := _definition_text(match)):
            return Definition(rank, match["subject"], text, whole=True)
    match = _APPOSITION.search(sentence)
    if match is not None and (text := _definition_text(match)):
        return Definition(len(_PATTERNS), sentence[: match.start()], text, whole=False)
    return None


def _definition_text(match: re.Match[str]) -> str:
    """Return the definition, or an empty string if it is too short or only an evaluation."""
    text = _shortened(match["text"])
    kind = (match.groupdict().get("kind") or "").lower()
    names_kind = not STOP_WORDS.intersection(kind.split()) - _ALLOWED_STOP_WORDS
    valid = names_kind and not _EVALUATIVE.search(kind) and len(text) >= MIN_DEFINITION_LENGTH
    return text if valid else ""


def _shortened(text: str) -> str:
    """Return a definition without its full stop, cut at the end of a clause if it is long."""
    # In abstracts the space after a sentence is often missing: "from text.We propose".
    text = _MISSING_SPACE.split(" ".join(text.split()), maxsplit=1)[0].rstrip(" .")
    if len(text) > MAX_DEFINITION_LENGTH:
        text = re.split(r"[,;:(]", text[:MAX_DEFINITION_LENGTH], maxsplit=1)[0].strip()
    return text


def find_abbreviations(tokens: list[str]) -> Iterator[tuple[int, str]]:
    """Yield every abbreviation in brackets, in the singular, with the position of the bracket."""
    for position, token in enumerate(tokens[:-2]):
        if token == "(" and tokens[position + 2] in "),;":
            short = tokens[position + 1]
            if short[-1:] == "s" and short[:-1].isupper():
                short = short[:-1]
            capitals = sum(map(str.isupper, short))
            if 2 <= len(short) <= MAX_ABBREVIATION_LENGTH and capitals * 2 > len(short):
                yield position, short


def is_abbreviation(short: str, words: list[str]) -> bool:
    """Return whether the words contain the letters in order, with the first letter of each word."""
    letters = [re.escape(letter) for letter in short.lower() if letter.isalnum()]
    # The next letter is the first one of its kind in the same word, or begins the next word.
    others = "".join(f"(?:(?>[^ ]*?{letter})|[^ ]*+ {letter})" for letter in letters[1:])
    pattern = f"{''.join(letters[:1])}{others}[^ ]*+"
    return bool(letters) and re.fullmatch(pattern, " ".join(words).lower()) is not None
