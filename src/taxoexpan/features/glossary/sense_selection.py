"""The definition in a glossary entry, and the choice among several entries for one name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from taxoexpan.features.corpus.phrases import split_sentences
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_TEXT_LENGTH = 1000
"""The characters of a text that are kept; definitions are shorter."""

MIN_WORDS = 4
"""The fewest words of a sentence that is a definition."""

_ABBREVIATION = re.compile(
    r"""[(["']*(?:approx|bros|ca|dr|ed|esp|est|gen|gov|hon|jr|lat|lit|mr|mrs|ms|mt|nos?|pl|prof|"""
    r"""pron|rev|sen|sgt|sr|st|vol)\.""",
    re.IGNORECASE,
)

_LIST_PAGE = re.compile(r"#redirect\b|.*:$|.*\b(?:may|can|could) (?:also )?refer to\b", re.I)


def article_text(title: str, text: str) -> str:
    """Return an article's start as one line, or an empty string if it introduces a list."""
    first, _, rest = text.strip().partition("\n")
    if rest and normalize_name(first) == normalize_name(title):
        text = rest.strip()
        first = text.partition("\n")[0]
    if _LIST_PAGE.match(first.strip()):
        return ""
    return " ".join(text[: 2 * MAX_TEXT_LENGTH].split())[:MAX_TEXT_LENGTH]


def first_sentence(text: str) -> str:
    """Return the first sentence; abbreviations, initials and parentheses do not end it."""
    sentence = ""
    for part in split_sentences(text):
        sentence = f"{sentence} {part}".strip()
        if _is_complete(sentence):
            return sentence
    return next(iter(split_sentences(text)), "") if sentence.count("(") else sentence


def _is_complete(sentence: str) -> bool:
    words = sentence.split()
    return (
        len(words) >= MIN_WORDS
        and sentence.count("(") <= sentence.count(")")
        and not _ABBREVIATION.fullmatch(words[-1])
    )


MARGIN = 1.2
"""How many times as well as any other the best sense has to fit."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a name: *Mercury (planet)* is `mercury` with the qualifier `planet`."""

    name: str
    qualifier: str
    text: str


def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text in the singular, without stop words."""
    words = _WORD.findall(normalize_name(text))
    return frozenset(singular(word) for word in words if word not in STOP_WORDS)


class SenseSelector:
    """A comparison of texts with the labels of a taxonomy, by their shared words."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._words = cache(lambda index: content_words(taxonomy.labels[index]))
        self._child_words = cache(self._words_of_children)
        self._frequency: Counter[str] | None = None

    @property
    def frequency(self) -> Counter[str]:
        """The number of labels that contain each word."""
        if self._frequency is None:
            size = len(self._taxonomy)
            self._frequency = Counter(word for i in range(size) for word in self._words(i))
        return self._frequency

    def for_concept(self, index: int, senses: Sequence[Sense]) -> Sense | None:
        """Return the sense that fits the neighbors of a known concept; rare words count more."""
        parents = self._taxonomy.parents_of.of(index).tolist()
        groups = [self._child_words(index)]
        groups += [
            words(parent) for parent in parents for words in (self._words, self._child_words)
        ]
        size = len(self._taxonomy)

        def weight(word: str) -> float:
            near = any(word in group for group in groups)
            return math.log((1 + size) / self.frequency[word]) if near else 0.0

        return _select(senses, weight)

    def for_new(self, senses: Sequence[Sense]) -> Sense | None:
        """Return the sense that fits the taxonomy's vocabulary; frequent words count more."""
        return _select(senses, lambda word: math.log1p(self.frequency[word]))

    def _words_of_children(self, index: int) -> frozenset[str]:
        children = self._taxonomy.children_of.of(index).tolist()
        return frozenset().union(*map(self._words, children))


def _select(senses: Sequence[Sense], weight: Callable[[str], float]) -> Sense | None:
    """Return the clearly best sense, or else the only title without parentheses."""
    if len(senses) == 1:
        return senses[0]
    fits = [_fit(sense, weight) for sense in senses]
    second, best = sorted(fits)[-2:]
    if best > MARGIN * second:
        return senses[fits.index(best)]
    plain = [sense for sense in senses if not sense.qualifier]
    return plain[0] if len(plain) == 1 else None


def _fit(sense: Sense, weight: Callable[[str], float]) -> float:
    """Return the weight of a sense's words, except its name, over the root of their number."""
    words = content_words(f"{sense.qualifier} {sense.text}") - content_words(sense.name)
    return sum(map(weight, words)) / math.sqrt(max(1, len(words)))
