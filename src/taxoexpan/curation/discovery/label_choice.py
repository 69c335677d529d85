"""What a candidate is called: its label and synonyms, by how the texts write it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from taxoexpan.curation.discovery.observations import Evidence
from taxoexpan.curation.discovery.words import word_key
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

LEAST_SHARE = 0.1
"""A form that is rarer than this among the others is a slip."""

LEAST_NUMBER = 0.05
"""The same for the singular among plurals, or the other way round."""

LEAST_SMALL = 0.2
"""A word that is written in small letters in this share of mentions is no proper name."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A label, and other names for the same thing."""

    label: str
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Abbreviations:
    """What letters stand for: by the letters, in lower case, how often each phrase is meant."""

    meanings: Mapping[str, Counter[int]]

    @classmethod
    def of(cls, evidence: Evidence) -> Abbreviations:
        """Bring together what the texts say."""
        meanings: dict[str, Counter[int]] = defaultdict(Counter)
        for (number, short), count in evidence.abbreviations.items():
            meanings[short.lower()][number] += count
        return cls(meanings)

    def meant_by(self, short: str) -> int | None:
        """The phrase that letters stand for in half of all cases and more."""
        meanings = self.meanings.get(short.lower())
        if not meanings:
            return None
        number, count = min(meanings.items(), key=lambda item: (-item[1], item[0]))
        return number if 2 * count >= meanings.total() else None

    def explained(self, short: str) -> int:
        """How often the texts say what letters stand for."""
        return self.meanings[short].total() if short in self.meanings else 0


def forms_by_number(evidence: Evidence) -> dict[int, Counter[str]]:
    """How each candidate is written."""
    forms: dict[int, Counter[str]] = defaultdict(Counter)
    for (number, form), count in evidence.forms.items():
        forms[number][form] = count
    return forms


def shorts_by_number(evidence: Evidence, abbreviations: Abbreviations) -> dict[int, list[str]]:
    """The letters that stand for each phrase, the most frequent first."""
    shorts: dict[int, Counter[str]] = defaultdict(Counter)
    for (number, short), count in evidence.abbreviations.items():
        if abbreviations.meant_by(short) == number:
            shorts[number][short] = count
    return {
        number: [short for short, n in _ordered(found) if n >= LEAST_SHARE * found.total()]
        for number, found in shorts.items()
    }


def prefers_plural(labels: Iterable[str]) -> bool:
    """Whether most labels are in the plural."""
    heads = [words[-1] for label in labels if (words := normalize_name(label).split())]
    return 2 * sum(singular(head) != head for head in heads) > len(heads)


def name_candidate(forms: Counter[str], shorts: Iterable[str], plural: bool) -> Naming:
    """Choose among the forms; spellings that are not chosen, and abbreviations, are synonyms."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for form, count in forms.items():
        spellings[" ".join(map(word_key, form.replace("-", " ").split()))][form] += count
    totals = Counter({spelling: found.total() for spelling, found in spellings.items()})
    names = [
        _number_chosen(spellings[spelling], plural)
        for spelling, count in _ordered(totals)
        if count >= LEAST_SHARE * totals.total()
    ]
    return Naming(names[0], tuple(dict.fromkeys([*names[1:], *shorts])))


def _number_chosen(forms: Counter[str], plural: bool) -> str:
    """The most usual form in the number, singular or plural, that labels are in."""
    lowered: Counter[str] = Counter()
    for form, count in forms.items():
        lowered[form.lower()] += count
    usual = [item for item in _ordered(lowered) if item[1] >= LEAST_NUMBER * lowered.total()]
    # In English the plural is the longer one.
    chosen, _ = (max if plural else min)(usual, key=lambda item: len(item[0]))
    return _case_chosen({form: n for form, n in forms.items() if form.lower() == chosen})


def _case_chosen(forms: Mapping[str, int]) -> str:
    """Every word in small letters, unless it is rarely so; titles write all with capitals."""
    words = []
    for column in zip(*(form.split() for form in forms), strict=True):
        cases: Counter[str] = Counter()
        for word, count in zip(column, forms.values(), strict=True):
            cases[word] += count
        small = column[0].lower()
        often = cases[small] >= LEAST_SMALL * cases.total()
        words.append(small if often else _ordered(cases)[0][0])
    return " ".join(words)


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first; of equal ones the last in the alphabet, small letters that is."""
    return sorted(sorted(counts.items(), reverse=True), key=lambda item: -item[1])
