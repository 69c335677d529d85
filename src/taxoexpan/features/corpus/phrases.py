"""Text as tokens, and multi-word names found in it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.corpus.parallel import map_blocks

LONGEST_COMPOUND = 4
"""Words of a name that a text may have joined by hyphens: part-of-speech tagging."""

# Vowel signs and accents, which Python does not count among the letters of a word.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u20d0-\u20f0"
)
_TOKEN = re.compile(rf"[\w{_MARKS}]+(?:['-][\w{_MARKS}]+)*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_SIGNS = (("\u2019", "'"), ("\u2010", "-"), ("\u00ad", ""), ("_", " "))
_GAPS = re.compile("[-']")
_SENTENCE_END = re.compile(
    # One set of signs first, and only then what they are: so the text between is skipped quickly.
    r"[.!?。！？\n](?:(?<=[.!?])"
    # The small words that end in a full stop and end no sentence, and initials.
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bFig\.)(?<!\b[A-Z]\.)"
    r"[\"')\]”’]*(\s++)|(?<=[。！？])()|(?<=\n)\s*\n)"
)


def tokenize(text: str) -> list[str]:
    """The words in lower case: letters and digits, with the hyphens and apostrophes inside."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    text = unicodedata.normalize("NFKC", text)
    for sign, plain in _SIGNS:
        text = text.replace(sign, plain)
    return _TOKEN.findall(text.lower())


def split_sentences(text: str) -> list[str]:
    """The sentences: a full stop ends one where a space and no small letter come after it."""
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if not text[match.end() : match.end() + 1].islower():
            sentences.append(text[start : match.start(match.lastindex or 0)])
            start = match.end()
    return [stripped for sentence in [*sentences, text[start:]] if (stripped := sentence.strip())]


class _Node(dict[str, "_Node"]):
    """Where the next words of names lead to, and the name that ends here."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name: str | None = None


class PhraseMatcher:
    """Finds names among tokens, from the left the longest first, none inside another.

    A hyphen or an apostrophe is as good as a space, and the last word may have an s more: the name
    "support vector machine" is found in "support-vector machines".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._root = _Node()
        spelled = {words: None for name in names if (words := tuple(name_words(name)))}
        for words in spelled:
            self._add(words, "_".join(words))
        for words in spelled:
            # After all names, since what is a name itself is nobody's plural.
            self._add((*words[:-1], f"{words[-1]}s"), "_".join(words))

    def join(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, those of every found name as one, joined by `_`."""
        joined: list[str] = []
        done = 0
        for start, end, name in self._found(tokens):
            joined += tokens[done:start]
            joined.append(name)
            done = end
        joined += tokens[done:]
        return joined

    def count(self, tokens: Sequence[str]) -> Counter[str]:
        """How often each name is found, by the token that `join` makes of it."""
        return Counter([name for _, _, name in self._found(tokens)])

    def _add(self, words: Sequence[str], name: str) -> None:
        path = [self._root]
        for word in words:
            if word not in path[-1]:
                path[-1][word] = _Node()
            path.append(path[-1][word])
        path[-1].name = path[-1].name or name
        for size in range(2, min(len(words), LONGEST_COMPOUND) + 1):
            for start in range(len(words) - size + 1):
                compound, end = words[start : start + size], path[start + size]
                path[start]["-".join(compound)] = end
                # Two apostrophes in a word have a letter between them or behind: l'Hôpital's.
                if size == 2 or min(map(len, compound)) == 1:
                    path[start]["'".join(compound)] = end

    def _found(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Start, end and name of all that is found."""
        found, done = [], 0
        # No name goes beyond this end, which saves asking for it at every word.
        bounded = [*tokens, ""]
        for start, first in enumerate(map(self._root.get, tokens)):
            if first is None or start < done:
                continue
            end = place = start + 1
            name, node = first.name, first
            while (following := node.get(bounded[place])) is not None:
                node = following
                place += 1
                if node.name is not None:
                    name, end = node.name, place
            if name is not None:
                found.append((start, end, name))
                done = end
        return found


def name_words(name: str) -> list[str]:
    """The words of a name as `PhraseMatcher` compares them, without hyphens and apostrophes."""
    return [word for token in tokenize(name) for word in _GAPS.split(token)]


def name_token(name: str) -> str:
    """The one token that `PhraseMatcher.join` makes of a name."""
    return "_".join(name_words(name))


def mentions(path: Path, names: Iterable[str], workers: int | None = None) -> dict[str, int]:
    """Count the mentions of each name in a corpus."""
    names = list(dict.fromkeys(names))
    phrases = PhraseMatcher(names)

    def count(texts: list[str]) -> Counter[str]:
        tokens: list[str] = []
        for text in texts:
            tokens += tokenize(text)
            # Nothing is found across the empty token; one long list is counted faster than many.
            tokens.append("")
        return phrases.count(tokens)

    total: Counter[str] = Counter()
    for found in map_blocks(count, read_documents(path), workers):
        total.update(found)
    return {name: total[name_token(name)] for name in names}
