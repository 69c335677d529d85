"""The check for labels that are nearly the same: two forms of one name, or a slip of the pen."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from taxoexpan.curation.checks.findings import Finding, found, spelled
from taxoexpan.curation.checks.label_index import Names, siblings_among
from taxoexpan.curation.checks.one_edit_apart import one_edit_apart
from taxoexpan.taxonomy.english import MIN_PLURAL_LENGTH, singular

SHORTEST_VARIANT = 6
SHORTEST_SLIP = 8
"""Shorter words differ by a letter all the time: shirts, shorts, skirts."""
SPELLINGS = ({"s", "z"}, {"c", "k"}, {"i", "y"})
"""Letters that change places between spellings of one word: disc and disk, tyre and tire."""

VOWELS = "aeiou"


class Likeness(NamedTuple):
    """Two labels by their numbers, how they differ, and whether they are one name for sure."""

    first: int
    second: int
    how: str
    sure: bool


def similar_labels(names: Names) -> Iterator[Finding]:
    """Labels that differ so little that one may be a double of the other."""
    taxonomy = names.taxonomy
    likenesses = [*_forms_of_one_name(names), *_one_edit_apart(names)]
    for first, second, how, sure in sorted(likenesses):
        some, others = names.bearers.of(first).tolist(), names.bearers.of(second).tolist()
        near = siblings_among(taxonomy, some, others)
        one, other = (near.first, near.second) if near else (some[0], others[0])
        message = f"{names.labels[first]!r} and {spelled(taxonomy, other)} {how}"
        message += f", {near.how}" if near else ""
        message += "; if they are one, merge them" if sure else "; is one of them misspelt?"
        grave = sure and near is not None
        yield found("similar-label", taxonomy.ids[one], message, grave)


def _key(folded: str) -> str:
    """What is left of a name without spaces and without the plural of its last word."""
    start, _, last = folded.rpartition(" ")
    return start.replace(" ", "") + singular(last)


def _forms_of_one_name(names: Names) -> Iterator[Likeness]:
    """Labels that differ in case, spaces and hyphens, or in the plural."""
    forms: dict[str, list[int]] = defaultdict(list)
    for number in names.worded:
        forms[_key(names.folded[number])].append(number)
    for numbers in forms.values():
        for first, second in pairwise(numbers):
            spaced = names.folded[first].replace(" ", "") == names.folded[second].replace(" ", "")
            what = "case, spaces or hyphens" if spaced else "singular and plural"
            yield Likeness(first, second, f"differ only in {what}", sure=True)


def _one_edit_apart(names: Names) -> Iterator[Likeness]:
    """Labels that differ in one character, where that says something."""
    numbers: dict[str, int] = {}
    for number in names.worded:
        numbers.setdefault(names.folded[number], number)
    folded = [name for name in numbers if len(name) >= SHORTEST_VARIANT]
    uses = Counter(word for name in numbers for word in set(name.split()))
    edits = one_edit_apart(folded)
    for a, b, place in zip(
        edits.longer.tolist(), edits.shorter.tolist(), edits.places.tolist(), strict=True
    ):
        longer, shorter = folded[a], folded[b]
        how = _telling(longer, shorter, place, uses)
        if how and _key(longer) != _key(shorter):
            first, second = sorted((numbers[longer], numbers[shorter]))
            yield Likeness(first, second, *how)


def _telling(longer: str, shorter: str, place: int, uses: Counter[str]) -> tuple[str, bool] | None:
    """How two names differ that are one edit apart, and whether for sure; nothing if by nature."""
    words = _word_at(longer, place), _word_at(shorter, place)
    if min(map(len, words)) < MIN_PLURAL_LENGTH or any(map(_has_digit, words)):
        return None
    if _respelt(longer, shorter, place):
        return "look like two spellings of one name", True
    # Nobody errs in a word's first letter, and a misspelt word is a rare one: where the taxonomy
    # uses both words elsewhere, as in memory bank and memory rank, both are meant.
    at_start = place == 0 or longer[place - 1] == " "
    if at_start or len(shorter) < SHORTEST_SLIP or min(uses[word] for word in words) > 1:
        return None
    return "differ in one letter", False


def _respelt(longer: str, shorter: str, place: int) -> bool:
    """Whether an edit is of those between spellings: colour, generalised, travelling, men's."""
    letter, before = longer[place], longer[place - 1 : place]
    if len(longer) == len(shorter):
        pair = {letter, shorter[place]}
        return pair in SPELLINGS or all(map(_is_sign, pair))
    doubled = letter == before and letter not in VOWELS
    return doubled or (before, letter) == ("o", "u") or _is_sign(letter)


def _word_at(name: str, place: int) -> str:
    """The word of a name in which a place lies, or at whose end."""
    end = name.find(" ", place)
    return name[name.rfind(" ", 0, place) + 1 : end if end >= 0 else None]


def _is_sign(character: str) -> bool:
    """Neither letter nor digit, nor a mark on one, which in Hindi makes another word."""
    return unicodedata.category(character)[0] not in "LMN"


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
