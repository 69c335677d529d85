"""The choice of a label and synonyms for a candidate, from its forms in the texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from taxoexpan.curation.discovery.observations import Observations
from taxoexpan.curation.discovery.words import word_key
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

MIN_FORM_FRACTION = 0.1
"""A form with a smaller fraction of the mentions is treated as a mistake."""

MIN_NUMBER_FRACTION = 0.05
"""The same for a singular among plurals, or a plural among singulars."""

MIN_LOWER_CASE_FRACTION = 0.2
"""A word in lower case in at least this fraction of mentions is not a proper name."""


class Abbreviations:
    """The counts of the phrases that each lower-case abbreviation stands for."""

    def __init__(self, observations: Observations) -> None:
        self.meanings: dict[str, Counter[int]] = defaultdict(Counter)
        for (number, short), count in observations.abbreviations.items():
            self.meanings[short.lower()][number] += count

    def meaning(self, short: str) -> int | None:
        """Return the phrase that an abbreviation stands for in at least half of all cases."""
        meanings = self.meanings.get(short.lower())
        if not meanings:
            return None
        number, count = min(meanings.items(), key=lambda item: (-item[1], item[0]))
        return number if 2 * count >= meanings.total() else None

    def count(self, short: str) -> int:
        """Return how often the texts explain an abbreviation."""
        return self.meanings[short].total() if short in self.meanings else 0


def shorts_by_number(
    observations: Observations, abbreviations: Abbreviations
) -> dict[int, list[str]]:
    """Return the abbreviations of each phrase, most frequent first."""
    shorts: dict[int, Counter[str]] = defaultdict(Counter)
    for (number, short), count in observations.abbreviations.items():
        if abbreviations.meaning(short) == number:
            shorts[number][short] = count
    return {
        number: [short for short, n in _by_frequency(own) if n >= MIN_FORM_FRACTION * own.total()]
        for number, own in shorts.items()
    }


def prefers_plural(labels: Iterable[str]) -> bool:
    """Return whether more than half of the labels are plural."""
    heads = [words[-1] for label in labels if (words := normalize_name(label).split())]
    return 2 * sum(singular(head) != head for head in heads) > len(heads)


def choose_names(
    forms: Counter[str], shorts: Iterable[str], plural: bool
) -> tuple[str, tuple[str, ...]]:
    """Choose a label, and other spellings and abbreviations as synonyms."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for form, count in forms.items():
        spellings[" ".join(map(word_key, form.replace("-", " ").split()))][form] += count
    totals = Counter({spelling: own.total() for spelling, own in spellings.items()})
    names = [
        _form_in_number(spellings[spelling], plural)
        for spelling, count in _by_frequency(totals)
        if count >= MIN_FORM_FRACTION * totals.total()
    ]
    return names[0], tuple(dict.fromkeys([*names[1:], *shorts]))


def _form_in_number(forms: Counter[str], plural: bool) -> str:
    """Return a frequent form in the singular or plural, in its usual case."""
    lowered: Counter[str] = Counter()
    for form, count in forms.items():
        lowered[form.lower()] += count
    common = [
        item for item in _by_frequency(lowered) if item[1] >= MIN_NUMBER_FRACTION * lowered.total()
    ]
    # In English the plural is the longer form.
    chosen, _ = (max if plural else min)(common, key=lambda item: len(item[0]))
    return _in_usual_case({form: n for form, n in forms.items() if form.lower() == chosen})


def _in_usual_case(forms: Mapping[str, int]) -> str:
    """Return the form with words in lower case, except words that are rarely written so."""
    words = []
    for column in zip(*(form.split() for form in forms), strict=True):
        cases: Counter[str] = Counter()
        for word, count in zip(column, forms.values(), strict=True):
            cases[word] += count
        lower = column[0].lower()
        is_common = cases[lower] >= MIN_LOWER_CASE_FRACTION * cases.total()
        words.append(lower if is_common else _by_frequency(cases)[0][0])
    return " ".join(words)


def _by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    """Sort by frequency, highest first; in a tie, lower case comes first."""
    return sorted(sorted(counts.items(), reverse=True), key=lambda item: -item[1])
