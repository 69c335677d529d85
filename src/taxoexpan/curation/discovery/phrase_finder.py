"""Where the watched phrases stand in some texts, found for all words at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.discovery.words import LONGEST, MOST_KEYS, Keys, pieces_of
from taxoexpan.taxonomy.arrays import Indices

LONGEST_PASSAGE = 1 << 16
"""Pieces after which a new passage begins, even inside a text: that may be a book."""

_BETWEEN = "\n"
"""What stands before and behind every sentence; no text has it among its words and signs."""


@dataclass(frozen=True)
class Passage:
    """Texts laid out as one row of words and signs, with a bound on both sides of a sentence.

    `sentence_of` is by piece the number of its sentence, `text_of` by sentence that of its text,
    and `offsets` are the places where sentences begin, and one more.
    """

    sentences: list[str]
    pieces: list[str]
    sentence_of: Indices
    text_of: Indices
    offsets: Indices

    def is_heading(self, sentence: int) -> bool:
        """Whether more than half of its words and signs are words with a capital."""
        start, end = self.offsets[sentence], self.offsets[sentence + 1] - 1
        capitals = sum(piece[0].isupper() for piece in self.pieces[start:end])
        return 2 * capitals > int(end - start)


@dataclass(frozen=True)
class Mentions:
    """Watched phrases in a passage by their numbers; `ends` are the places behind them."""

    numbers: Indices
    starts: Indices
    ends: Indices

    def where(self, chosen: NDArray[np.bool_]) -> Mentions:
        """Some of them."""
        return Mentions(self.numbers[chosen], self.starts[chosen], self.ends[chosen])

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Number, start and end of each."""
        columns = self.numbers.tolist(), self.starts.tolist(), self.ends.tolist()
        return zip(*columns, strict=True)


def passages_of(texts: Sequence[str]) -> Iterator[Passage]:
    """Cut texts into sentences, and these into pieces."""
    cut = (
        (number, sentence, pieces)
        for number, text in enumerate(texts)
        for sentence, pieces in pieces_of(text)
    )
    while (passage := _lay_out(cut)).sentences:
        yield passage


def _lay_out(cut: Iterator[tuple[int, str, list[str]]]) -> Passage:
    """The next sentences, each with the number of its text."""
    sentences: list[str] = []
    pieces, offsets, text_of = [_BETWEEN], [1], []
    for number, sentence, found in cut:
        sentences.append(sentence)
        text_of.append(number)
        pieces += found
        pieces.append(_BETWEEN)
        offsets.append(len(pieces))
        if len(pieces) >= LONGEST_PASSAGE:
            break
    sentence_of = np.repeat(np.arange(len(sentences)), np.diff(offsets))
    return Passage(
        sentences,
        pieces,
        np.append(0, sentence_of),
        np.array(text_of, np.int64),
        np.array(offsets, np.int64),
    )


class Codes(dict[str, int]):
    """A code for every written word.

    0 is a bound of phrases, unless it is one of `bounds`, which have the next codes; then comes one
    for all words that no phrase has, and then the words of phrases.
    """

    def __init__(self, keys: Keys, bounds: Sequence[str], words: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys
        self.bounds = {word: code for code, word in enumerate(bounds, 1)}
        self.unknown = len(bounds) + 1
        self.words = {word: code for code, word in enumerate(words, self.unknown + 1)}
        self.size = self.unknown + 1 + len(words)

    def __missing__(self, piece: str) -> int:
        """Work it out once, as `Keys` does."""
        if len(self) >= MOST_KEYS:
            self.clear()
        key = self._keys.key_of(piece)
        if key is None:
            code = self.bounds.get(piece.lower(), 0)
        else:
            code = self.words.get(key, self.unknown)
        self[piece] = code
        return code


class Finder:
    """Finds phrases of up to `LONGEST` words.

    They are the paths of a tree. The node of a single word is its code; a step from a node to the
    next is written as node × number of codes + code of the next word.
    """

    def __init__(self, numbers: Mapping[str, int], keys: Keys, bounds: Sequence[str]) -> None:
        phrases = {tuple(phrase.split()): number for phrase, number in numbers.items()}
        words = sorted({word for phrase in phrases for word in phrase})
        self.codes = Codes(keys, bounds, words)
        steps: dict[int, int] = {}
        ends: dict[int, int] = {}
        for phrase, number in phrases.items():
            if len(phrase) <= LONGEST:
                ends[self._node(phrase, steps)] = number
        self._numbers = np.full(self.codes.size + len(steps), -1)
        self._numbers[list(ends)] = list(ends.values())
        self._steps = np.array([*sorted(steps), np.iinfo(np.int64).max])
        self._nodes = np.array([steps[step] for step in sorted(steps)], np.int64)

    def _node(self, phrase: Sequence[str], steps: dict[int, int]) -> int:
        """The node where a phrase ends, with new steps where it needs them."""
        node, *others = (self.codes.words[word] for word in phrase)
        for code in others:
            step = node * self.codes.size + code
            node = steps.setdefault(step, self.codes.size + len(steps))
        return node

    def codes_of(self, passage: Passage) -> Indices:
        """The codes of its pieces."""
        pieces = passage.pieces
        return np.fromiter(map(self.codes.__getitem__, pieces), np.int64, len(pieces))

    def marked(self, bounds: Collection[str]) -> NDArray[np.bool_]:
        """By code, whether it is that of one of these bounds."""
        return np.isin(np.arange(self.codes.size), [self.codes.bounds[word] for word in bounds])

    def find(self, codes: Indices) -> Mentions:
        """All mentions in a row of codes that ends with a bound, also those inside another."""
        found = []
        starts = np.flatnonzero(codes > self.codes.unknown)
        nodes = codes[starts]
        for size in range(1, LONGEST + 1):
            mentions = Mentions(self._numbers[nodes], starts, starts + size)
            found.append(mentions.where(mentions.numbers >= 0))
            steps = nodes * self.codes.size + codes[starts + size]
            places = np.searchsorted(self._steps, steps)
            further = self._steps[places] == steps
            starts, nodes = starts[further], self._nodes[places[further]]
        return Mentions(
            np.concatenate([mentions.numbers for mentions in found]),
            np.concatenate([mentions.starts for mentions in found]),
            np.concatenate([mentions.ends for mentions in found]),
        )
