"""A vectorized search for the tracked phrases in texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.discovery.words import (
    MAX_CACHED_WORDS,
    MAX_PHRASE_WORDS,
    WordKeys,
    tokenized_sentences,
)
from taxoexpan.taxonomy.arrays import Indices

MAX_PASSAGE_TOKENS = 1 << 16
"""Tokens after which a new passage begins, even inside a text, which may be a whole book."""

_SEPARATOR = "\n"
"""A token before and after every sentence; it never occurs in a text."""


@dataclass(frozen=True)
class Passage:
    """Sentences as one sequence of tokens, with a separator before and after each sentence.

    `sentence_of` is the sentence number of each token, `text_of` the text number of each sentence.
    `offsets` are the positions at which sentences begin, and the end.
    """

    sentences: list[str]
    tokens: list[str]
    sentence_of: Indices
    text_of: Indices
    offsets: Indices

    def is_heading(self, sentence: int) -> bool:
        """Whether more than half of the tokens of a sentence begin with a capital letter."""
        start, end = self.offsets[sentence], self.offsets[sentence + 1] - 1
        capitals = sum(token[0].isupper() for token in self.tokens[start:end])
        return 2 * capitals > int(end - start)


@dataclass(frozen=True)
class PhraseMentions:
    """The mentions of tracked phrases in a passage: phrase numbers, starts and exclusive ends."""

    numbers: Indices
    starts: Indices
    ends: Indices

    def where(self, selected: NDArray[np.bool_]) -> PhraseMentions:
        """Only the selected mentions."""
        return PhraseMentions(self.numbers[selected], self.starts[selected], self.ends[selected])

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Number, start and end of each mention."""
        columns = self.numbers.tolist(), self.starts.tolist(), self.ends.tolist()
        return zip(*columns, strict=True)


def split_into_passages(texts: Sequence[str]) -> Iterator[Passage]:
    """Split texts into sentences and tokens, and join these into passages."""
    sentences = (
        (number, sentence, tokens)
        for number, text in enumerate(texts)
        for sentence, tokens in tokenized_sentences(text)
    )
    while (passage := _next_passage(sentences)).sentences:
        yield passage


def _next_passage(numbered: Iterator[tuple[int, str, list[str]]]) -> Passage:
    """A passage of the next sentences, given the text number and the tokens of each sentence."""
    sentences: list[str] = []
    tokens, offsets, text_of = [_SEPARATOR], [1], []
    for number, sentence, own_tokens in numbered:
        sentences.append(sentence)
        text_of.append(number)
        tokens += own_tokens
        tokens.append(_SEPARATOR)
        offsets.append(len(tokens))
        if len(tokens) >= MAX_PASSAGE_TOKENS:
            break
    sentence_of = np.repeat(np.arange(len(sentences)), np.diff(offsets))
    return Passage(
        sentences,
        tokens,
        np.append(0, sentence_of),
        np.array(text_of, np.int64),
        np.array(offsets, np.int64),
    )


class WordCodes(dict[str, int]):
    """A cache of the integer code of every token.

    Code 0 means a phrase boundary. The given `boundaries` have codes of their own, from 1. Then
    follow one code for all words that occur in no phrase, and the codes of the phrases' words.
    """

    def __init__(self, keys: WordKeys, boundaries: Sequence[str], words: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys
        self.boundaries = {word: code for code, word in enumerate(boundaries, 1)}
        self.unknown = len(boundaries) + 1
        self.words = {word: code for code, word in enumerate(words, self.unknown + 1)}
        self.size = self.unknown + 1 + len(words)

    def __missing__(self, token: str) -> int:
        """Compute the code of a token and cache it, as `WordKeys` does."""
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        key = self._keys.compute(token)
        if key is None:
            code = self.boundaries.get(token.lower(), 0)
        else:
            code = self.words.get(key, self.unknown)
        self[token] = code
        return code


class PhraseFinder:
    """Finds phrases of up to `MAX_PHRASE_WORDS` words with a trie.

    The node of a single word is its code. The edge from a node to the next is stored as
    node × number of codes + code of the next word.
    """

    def __init__(
        self, numbers: Mapping[str, int], keys: WordKeys, boundaries: Sequence[str]
    ) -> None:
        phrases = {tuple(phrase.split()): number for phrase, number in numbers.items()}
        words = sorted({word for phrase in phrases for word in phrase})
        self.codes = WordCodes(keys, boundaries, words)
        edges: dict[int, int] = {}
        ends: dict[int, int] = {}
        for phrase, number in phrases.items():
            if len(phrase) <= MAX_PHRASE_WORDS:
                ends[self._node(phrase, edges)] = number
        self._numbers = np.full(self.codes.size + len(edges), -1)
        self._numbers[list(ends)] = list(ends.values())
        self._edges = np.array([*sorted(edges), np.iinfo(np.int64).max])
        self._nodes = np.array([edges[edge] for edge in sorted(edges)], np.int64)

    def _node(self, phrase: Sequence[str], edges: dict[int, int]) -> int:
        """The node at which a phrase ends; missing edges are added."""
        node, *others = (self.codes.words[word] for word in phrase)
        for code in others:
            edge = node * self.codes.size + code
            node = edges.setdefault(edge, self.codes.size + len(edges))
        return node

    def codes_of(self, passage: Passage) -> Indices:
        """The codes of the tokens of a passage."""
        tokens = passage.tokens
        return np.fromiter(map(self.codes.__getitem__, tokens), np.int64, len(tokens))

    def mask(self, boundaries: Collection[str]) -> NDArray[np.bool_]:
        """A mask over all codes that is true for the codes of these boundaries."""
        codes = [self.codes.boundaries[word] for word in boundaries]
        return np.isin(np.arange(self.codes.size), codes)

    def find(self, codes: Indices) -> PhraseMentions:
        """All mentions, also nested ones, in a sequence of codes that ends with a boundary."""
        parts = []
        starts = np.flatnonzero(codes > self.codes.unknown)
        nodes = codes[starts]
        for size in range(1, MAX_PHRASE_WORDS + 1):
            mentions = PhraseMentions(self._numbers[nodes], starts, starts + size)
            parts.append(mentions.where(mentions.numbers >= 0))
            edges = nodes * self.codes.size + codes[starts + size]
            positions = np.searchsorted(self._edges, edges)
            exists = self._edges[positions] == edges
            starts, nodes = starts[exists], self._nodes[positions[exists]]
        return PhraseMentions(
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
        )
