"""The tokens of a text, and multi-word names among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

MAX_COMPOUND_WORDS = 4
"""The most words of a name that a text may join by hyphens, as in part-of-speech tagging."""

# Vowel signs and accents, which \w does not match.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u20d0-\u20f0"
)
_TOKEN = re.compile(rf"[\w{_MARKS}]+(?:['-][\w{_MARKS}]+)*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_REPLACEMENTS = (("\u2019", "'"), ("\u2010", "-"), ("\u00ad", ""), ("_", " "))
_WORD_BREAK = re.compile("[-']")


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case, with inner hyphens and apostrophes."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    text = unicodedata.normalize("NFKC", text)
    for character, replacement in _REPLACEMENTS:
        text = text.replace(character, replacement)
    return _TOKEN.findall(text.lower())


def name_words(name: str) -> list[str]:
    """Return the words of a name for `PhraseMatcher`, split at hyphens and apostrophes."""
    return [word for token in tokenize(name) for word in _WORD_BREAK.split(token)]


def name_token(name: str) -> str:
    """Return the single token that `PhraseMatcher.join` makes of a name."""
    return "_".join(name_words(name))


class _Node(dict[str, "_Node"]):
    """A trie node: the next words of names, and the name that ends at this node."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name: str | None = None


class PhraseMatcher:
    """A finder of names among tokens: from left to right, the longest first, without overlaps.

    Hyphens match spaces, and a plural s may follow: "oat milk" matches "oat-milks".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._root = _Node()
        distinct = {words: None for name in names if (words := tuple(name_words(name)))}
        for words in distinct:
            self._add(words, "_".join(words))
        for words in distinct:
            # Plurals come last, because a plural that is itself a name keeps its own meaning.
            self._add((*words[:-1], f"{words[-1]}s"), "_".join(words))

    def join(self, tokens: Sequence[str]) -> list[str]:
        """Replace the tokens of each name by one token, joined by `_`."""
        joined: list[str] = []
        copied = 0
        for start, end, name in self._find(tokens):
            joined += tokens[copied:start]
            joined.append(name)
            copied = end
        joined += tokens[copied:]
        return joined

    def _add(self, words: Sequence[str], name: str) -> None:
        path = [self._root]
        for word in words:
            if word not in path[-1]:
                path[-1][word] = _Node()
            path.append(path[-1][word])
        path[-1].name = path[-1].name or name
        for size in range(2, min(len(words), MAX_COMPOUND_WORDS) + 1):
            for start in range(len(words) - size + 1):
                compound, end = words[start : start + size], path[start + size]
                path[start]["-".join(compound)] = end
                # A word with two apostrophes has a single letter in it: l'Hôpital's.
                if size == 2 or min(map(len, compound)) == 1:
                    path[start]["'".join(compound)] = end

    def _find(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return the start, the end and the name of each match."""
        matches, matched = [], 0
        # The empty token matches no name; with it, the inner loop needs no check for the end.
        terminated = [*tokens, ""]
        for start, first in enumerate(map(self._root.get, tokens)):
            if first is None or start < matched:
                continue
            end = position = start + 1
            name, node = first.name, first
            while (following := node.get(terminated[position])) is not None:
                node = following
                position += 1
                if node.name is not None:
                    name, end = node.name, position
            if name is not None:
                matches.append((start, end, name))
                matched = end
        return matches
