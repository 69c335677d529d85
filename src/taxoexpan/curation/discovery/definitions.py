"""What a sentence says of a phrase: a definition, or an abbreviation in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from taxoexpan.taxonomy.english import STOP_WORDS

SHORTEST_DEFINITION = 25
LONGEST_DEFINITION = 300
LONGEST_SENTENCE = 600
LONGEST_ABBREVIATION = 10

_SUBJECT = r"(?:an? )?(?P<subject>[^\s,;:()][^,;:()]{0,60}?)(?: ?\([^()]{1,20}\))?"
_KIND = r"(?P<kind>(?: [\w-]+){1,6}?)"
_TOLD_APART = (
    r"(?:that|which|who|whose|where|(?:in|by) which|of|for|to|from|used (?:to|for|in|by|as)) \S.*"
)
_PATTERNS = tuple(
    re.compile(rf"^{_SUBJECT},? {pattern}", re.IGNORECASE)
    for pattern in (
        r"(?:refers? to|denotes?|(?:is|are|can be) defined as) (?P<text>\S.*)",
        rf"is (?P<text>(?:an?|the|any|one of the){_KIND} {_TOLD_APART})",
        r"are(?P<text>(?P<kind>(?: [\w-]+){0,4}? [\w-]+s) (?:that|which|whose) \S.*)",
        r"(?P<text>aims? (?:to|at) \S.*)",
    )
)
_LIKELY = re.compile(rf"^{_SUBJECT},? (?:refers?|denotes?|is|are|can|aims?) ", re.IGNORECASE)
"""What all patterns begin with, so that one look is enough for most sentences."""

_APPOSITION = re.compile(rf", (?P<text>an?{_KIND} (?:that|which|whose|in which) [^,;:]+)[,;.]")
_PRAISE = re.compile(
    r"\b(?:important|challenging|challenge|crucial|key|essential|fundamental|difficult|popular|"
    r"promising|common|major|critical|central|powerful|useful|effective|hard|hot|interesting|"
    r"significant|main|serious|necessary|great|big|vital|integral|active|emerging|growing|new|"
    r"recent|first|only|most|best|core|longstanding|long-standing|well-known|non-trivial|hallmark|prevalent|basic|research)\b"
)
"""Words that tell what to think of a thing, and not what it is."""

_LOST_SPACE = re.compile(r"(?<=[a-z])\.(?=[A-Z][a-z]* )")
_WITHIN_KINDS = frozenset(["used", "based"])


class Definition(NamedTuple):
    """What a thing is said to be, by the words before it; the lower the rank, the surer.

    Unless `whole`, only the end of the subject is meant: we use X, a Y that ...
    """

    rank: int
    subject: str
    text: str
    whole: bool


def definition_in(sentence: str) -> Definition | None:
    """The definition in a sentence, if there is one."""
    if len(sentence) > LONGEST_SENTENCE:
        return None
    for rank, pattern in enumerate(_PATTERNS if _LIKELY.match(sentence) else ()):
        found = pattern.match(sentence)
        if found is not None and (text := _says_what(found)):
            return Definition(rank, found["subject"], text, whole=True)
    found = _APPOSITION.search(sentence)
    if found is not None and (text := _says_what(found)):
        return Definition(len(_PATTERNS), sentence[: found.start()], text, whole=False)
    return None


def _says_what(found: re.Match[str]) -> str:
    """The text of a definition, blank where it names no kind, praises, or is too short."""
    text = _shortened(found["text"])
    kind = (found.groupdict().get("kind") or "").lower()
    named = not STOP_WORDS.intersection(kind.split()) - _WITHIN_KINDS
    return text if named and not _PRAISE.search(kind) and len(text) >= SHORTEST_DEFINITION else ""


def _shortened(text: str) -> str:
    """A definition without its full stop, cut where a part of it ends if it is long."""
    # Abstracts are full of sentences whose space was lost: "from text.We propose".
    text = _LOST_SPACE.split(" ".join(text.split()), maxsplit=1)[0].rstrip(" .")
    if len(text) > LONGEST_DEFINITION:
        text = re.split(r"[,;:(]", text[:LONGEST_DEFINITION], maxsplit=1)[0].strip()
    return text


def abbreviations_in(pieces: list[str]) -> Iterator[tuple[int, str]]:
    """Every abbreviation in brackets, without its plural, and the place of its bracket."""
    for place, piece in enumerate(pieces[:-2]):
        if piece == "(" and pieces[place + 2] in "),;":
            short = pieces[place + 1]
            if short[-1:] == "s" and short[:-1].isupper():
                short = short[:-1]
            capitals = sum(map(str.isupper, short))
            if 2 <= len(short) <= LONGEST_ABBREVIATION and capitals * 2 > len(short):
                yield place, short


def abbreviates(short: str, words: list[str]) -> bool:
    """Whether the letters stand in the words in their order, each word's first one among them.

    The parts of a word with hyphens need not all be there: TTS, text-to-speech.
    """
    letters = [letter for letter in short.lower() if letter.isalnum()]
    return bool(letters) and _spells(letters, [word.lower() for word in words])


def _spells(letters: list[str], words: list[str]) -> bool:
    """The first word takes a letter, and as many more as are in it; the rest is for the others."""
    if not words:
        return not letters
    word, others = words[0], words[1:]
    if not letters or not word.startswith(letters[0]):
        return False
    at, taken = 0, 0
    while True:
        taken, at = taken + 1, at + 1
        if _spells(letters[taken:], others):
            return True
        if taken == len(letters):
            return False
        at = word.find(letters[taken], at)
        if at < 0:
            return False
