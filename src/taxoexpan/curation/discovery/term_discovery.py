"""Discovery of new concepts: two passes over the corpus, then scoring and naming of candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np

from taxoexpan.curation.discovery.candidate_ranking import (
    find_nearest_names,
    may_be_duplicate,
    score_candidates,
)
from taxoexpan.curation.discovery.candidates import (
    CAPACITY,
    TrackedPhrases,
    WordKeys,
    choose_candidates,
    count_phrases,
    spelling_key,
    word_key,
)
from taxoexpan.curation.discovery.observations import Count, Observations, observe_phrases
from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import corpus_bytes, read_documents
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.formats.tables.formulas import protect_row
from taxoexpan.formats.tables.table import VALUE_SEPARATOR, table_text
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name, singular

TOP = 500
MIN_COUNT = 5

MIN_COMPARED = 2000
"""The lowest number of candidates to compare with the taxonomy; otherwise four times `top`."""

DUPLICATE_FACTOR = 0.7
"""The factor that lowers the score of a possible duplicate."""

MIN_EXPLAINED_FRACTION = 0.02
"""The lowest fraction of documents that must explain a candidate for it to be an abbreviation."""


@dataclass(frozen=True, slots=True)
class DiscoveredConcept:
    """A new concept from the corpus, and the label of a known concept that it might duplicate."""

    label: str
    definition: str
    synonyms: tuple[str, ...]
    count: int
    documents: int
    score: float
    might_duplicate: str
    example: str


COLUMNS = tuple(field.name for field in fields(DiscoveredConcept))


def discover(
    corpus: Path,
    taxonomy: Taxonomy,
    *,
    top: int = TOP,
    min_count: int = MIN_COUNT,
    workers: int | None = None,
    progress: bool = False,
    encoder: Encoder | None = None,
    capacity: int = CAPACITY,
) -> list[DiscoveredConcept]:
    """Find concepts in a corpus that a taxonomy does not have, best first.

    Phrases with fewer than `min_count` mentions are ignored. The number of `workers` (by default
    one per core) does not change the result. `capacity` limits the number of counted phrases, and
    so the memory use.
    """
    names = known_names(taxonomy)
    keys = WordKeys({singular(word) for name in names for word in name.split()})
    phrase_counts = count_phrases(_documents(corpus, "counting", progress), keys, workers, capacity)
    tracked = choose_candidates(phrase_counts, names, min_count)
    if not tracked.known:
        times = pluralize(min_count, "time")
        message = f"no name of the taxonomy occurs at least {times} in this corpus"
        raise FormatError(corpus, f"{message}; check that both are about the same domain")
    if not tracked.candidates:
        return []
    del phrase_counts  # the largest object in memory
    texts = _documents(corpus, "reading", progress)
    observations = observe_phrases(texts, keys, tracked, workers)
    ranking = _CandidateRanking(taxonomy, names, tracked, observations, Abbreviations(observations))
    return ranking.best(encoder or StaticEncoder(), top)


def discovered_concepts_table(
    path: Path, concepts: Sequence[DiscoveredConcept], keep_formulas: bool = False
) -> str:
    """Return a table of new concepts; formulas are escaped unless `keep_formulas` is set."""
    rows = []
    for concept in concepts:
        synonyms, score = VALUE_SEPARATOR.join(concept.synonyms), f"{concept.score:.4f}"
        row = asdict(concept) | {"synonyms": synonyms, "score": score}
        rows.append(protect_row([str(cell) for cell in row.values()], keep_formulas))
    return table_text(path, COLUMNS, rows)


@dataclass(frozen=True)
class _CandidateRanking:
    """The ranking of candidates, with their names and their similarity to the taxonomy."""

    taxonomy: Taxonomy
    names: Mapping[str, int]
    tracked: TrackedPhrases
    observations: Observations
    abbreviations: Abbreviations

    def best(self, encoder: Encoder, top: int) -> list[DiscoveredConcept]:
        """Return the `top` candidates by score and similarity to the taxonomy."""
        scores = score_candidates(self.tracked, self.observations, self.names).tolist()
        chosen = self._best_candidates(scores, max(MIN_COMPARED, 4 * top))
        chosen_names = self._choose_names(chosen)
        labels = [label for label, _ in chosen_names]
        nearest = find_nearest_names(encoder, labels, list(self.names))
        spellings = {spelling_key(name): index for name, index in self.names.items()}
        concepts = []
        for number, (label, synonyms), near in zip(chosen, chosen_names, nearest, strict=True):
            duplicate = self._duplicate_of(number, label, near, spellings)
            similarity = max(0.0, sum(cosine for _, cosine in near) / len(near))
            score = scores[number] * similarity * (DUPLICATE_FACTOR if duplicate else 1)
            _, definition = self.observations.definitions.get(number, (0, ""))
            concepts.append(
                DiscoveredConcept(
                    label,
                    definition,
                    synonyms,
                    self._count(number, Count.MENTIONS),
                    self._count(number, Count.DOCUMENTS),
                    score,
                    duplicate,
                    self.observations.examples[number][1],
                )
            )
        return sorted(concepts, key=lambda each: (-each.score, each.label))[:top]

    def _count(self, number: int, kind: Count) -> int:
        return int(self.observations.counts[kind, number])

    def _best_candidates(self, scores: Sequence[float], count: int) -> list[int]:
        """Return the best candidates, without abbreviations of other candidates."""
        chosen = (
            number
            for number in np.argsort(-np.array(scores), kind="stable").tolist()
            if scores[number] > 0 and not self._abbreviates_candidate(number)
        )
        return list(islice(chosen, count))

    def _abbreviates_candidate(self, number: int) -> bool:
        """Return whether a candidate abbreviates another candidate, or is ambiguous."""
        meaning = self._meaning(number)
        is_other = meaning is None or meaning < len(self.tracked.candidates)
        return self._is_abbreviation(number) and is_other

    def _is_abbreviation(self, number: int) -> bool:
        """Return whether enough documents explain a candidate as an abbreviation."""
        explained = self.abbreviations.count(self.tracked.candidates[number].spellings[0])
        documents = self._count(number, Count.DOCUMENTS)
        return explained > 0 and explained >= MIN_EXPLAINED_FRACTION * documents

    def _meaning(self, number: int) -> int | None:
        """Return the number of the phrase that a candidate abbreviates."""
        return self.abbreviations.meaning(self.tracked.candidates[number].spellings[0])

    def _choose_names(self, chosen: Sequence[int]) -> list[tuple[str, tuple[str, ...]]]:
        """Return the label and the synonyms of each candidate."""
        forms: dict[int, Counter[str]] = defaultdict(Counter)
        for (number, form), count in self.observations.forms.items():
            forms[number][form] = count
        shorts = shorts_by_number(self.observations, self.abbreviations)
        plural = prefers_plural(self.taxonomy.labels)
        return [choose_names(forms[number], shorts.get(number, ()), plural) for number in chosen]

    def _duplicate_of(
        self,
        number: int,
        label: str,
        near: Sequence[tuple[str, float]],
        spellings: Mapping[str, int],
    ) -> str:
        """Return the label of a known concept that a candidate may duplicate, or ""."""
        meaning, first_known = self._meaning(number), len(self.tracked.candidates)
        if meaning is not None and meaning >= first_known and self._is_abbreviation(number):
            return self.taxonomy.labels[self.tracked.known[meaning - first_known]]
        key = spelling_key(label)
        if key in spellings:
            return self.taxonomy.labels[spellings[key]]
        for name, cosine in near:
            if may_be_duplicate(label, name, cosine):
                return self.taxonomy.labels[self.names[name]]
        return ""


def _documents(corpus: Path, description: str, progress: bool) -> Iterator[str]:
    """Yield the documents of a corpus, and show the progress."""
    with Progress(description, corpus_bytes(corpus), "bytes", shown=progress) as bar:
        yield from read_documents(corpus, bar.move_to)


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
