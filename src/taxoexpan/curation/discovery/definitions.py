"""Definitions and abbreviations in sentences, found by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from taxoexpan.taxonomy.english import STOP_WORDS

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
