"""Discovery of new concepts: two passes over the corpus, then scoring and naming of candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
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
from taxoexpan.formats.tables.formulas import protect_cell
from taxoexpan.formats.tables.table import VALUE_SEPARATOR, table_text
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name

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
        raise FormatError(corpus, message, fix="check that both are about the same domain")
    if not tracked.candidates:
        return []
    del phrase_counts  # the largest object in memory
    texts = _documents(corpus, "reading", progress)
    observations = observe_phrases(texts, keys, tracked, workers)
    ranking = _CandidateRanking(taxonomy, names, tracked, observations)
    return ranking.best(encoder or StaticEncoder(), top)


def discovered_concepts_table(path: Path, concepts: Sequence[DiscoveredConcept]) -> str:
    """Return a table of new concepts; formulas are escaped."""
    rows = []
    for concept in concepts:
        synonyms, score = VALUE_SEPARATOR.join(concept.synonyms), f"{concept.score:.4f}"
        row = asdict(concept) | {"synonyms": synonyms, "score": score}
        rows.append([protect_cell(str(cell)) for cell in row.values()])
    return table_text(path, COLUMNS, rows)


@dataclass(frozen=True)
class _CandidateRanking:
    """The ranking of candidates, with their names and their similarity to the taxonomy."""

    taxonomy: Taxonomy
    names: Mapping[str, int]
    tracked: TrackedPhrases
    observations: Observations

    def best(self, encoder: Encoder, top: int) -> list[DiscoveredConcept]:
        """Return the `top` candidates by score and similarity to the taxonomy."""
        scores = score_candidates(self.tracked, self.observations, self.names).tolist()
        ranked = np.argsort(-np.array(scores), kind="stable").tolist()
        # An abbreviation of another candidate is a synonym of it.
        own = (n for n in ranked if scores[n] > 0 and self._abbreviated(n) != "")
        chosen = list(islice(own, max(MIN_COMPARED, 4 * top)))
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

    @cached_property
    def _meanings(self) -> dict[str, Counter[int]]:
        """The phrases that each lower-case abbreviation stands for, with their counts."""
        meanings: dict[str, Counter[int]] = defaultdict(Counter)
        for (number, short), count in self.observations.abbreviations.items():
            meanings[short.lower()][number] += count
        return dict(meanings)

    def _meaning(self, short: str) -> int | None:
        """Return the phrase that an abbreviation stands for in at least half of all cases."""
        meanings = self._meanings[short.lower()]
        number, count = min(meanings.items(), key=lambda item: (-item[1], item[0]))
        return number if 2 * count >= meanings.total() else None

    def _abbreviated(self, number: int) -> str | None:
        """Return the known concept that a candidate abbreviates, or "" for another meaning.

        Return None if too few documents explain the candidate as an abbreviation.
        """
        candidates, documents = self.tracked.candidates, self._count(number, Count.DOCUMENTS)
        short = candidates[number].spellings[0]
        explained = self._meanings.get(short, Counter()).total()
        if not explained or explained < MIN_EXPLAINED_FRACTION * documents:
            return None
        meaning = self._meaning(short)
        if meaning is None or meaning < len(candidates):
            return ""
        return self.taxonomy.labels[self.tracked.known[meaning - len(candidates)]]

    def _choose_names(self, chosen: Sequence[int]) -> list[tuple[str, tuple[str, ...]]]:
        """Return the label and the synonyms of each candidate."""
        forms: dict[int, Counter[str]] = defaultdict(Counter)
        for (number, form), count in self.observations.forms.items():
            forms[number][form] = count
        shorts: dict[int, Counter[str]] = defaultdict(Counter)
        for (number, short), count in self.observations.abbreviations.items():
            if self._meaning(short) == number:
                shorts[number][short] = count
        plural = prefers_plural(self.taxonomy.labels)
        return [choose_names(forms[number], shorts[number], plural) for number in chosen]

    def _duplicate_of(
        self,
        number: int,
        label: str,
        near: Sequence[tuple[str, float]],
        spellings: Mapping[str, int],
    ) -> str:
        """Return the label of a known concept that a candidate may duplicate, or ""."""
        if known := self._abbreviated(number):
            return known
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


def prefers_plural(labels: Iterable[str]) -> bool:
    """Return whether more than half of the labels are plural."""
    heads = [words[-1] for label in labels if (words := normalize_name(label).split())]
    return 2 * sum(singular(head) != head for head in heads) > len(heads)


def choose_names(
    forms: Counter[str], shorts: Counter[str], plural: bool
) -> tuple[str, tuple[str, ...]]:
    """Choose a label, and other spellings and abbreviations as synonyms."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for form, count in forms.items():
        spellings[" ".join(map(word_key, form.replace("-", " ").split()))][form] += count
    totals = Counter({spelling: own.total() for spelling, own in spellings.items()})
    frequent = _frequent(totals, MIN_FORM_FRACTION)
    label, *others = [_form_in_number(spellings[spelling], plural) for spelling in frequent]
    return label, tuple(dict.fromkeys([*others, *_frequent(shorts, MIN_FORM_FRACTION)]))


def _form_in_number(forms: Counter[str], plural: bool) -> str:
    """Return a frequent form in the singular or plural, in its usual case."""
    lowered: Counter[str] = Counter()
    for form, count in forms.items():
        lowered[form.lower()] += count
    # In English the plural is the longer form.
    chosen = (max if plural else min)(_frequent(lowered, MIN_NUMBER_FRACTION), key=len)
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
        words.append(lower if is_common else _frequent(cases, 0)[0])
    return " ".join(words)


def _frequent(counts: Counter[str], fraction: float) -> list[str]:
    """Return the strings with this fraction of all counts, most frequent and lower case first."""
    ranked = sorted(sorted(counts.items(), reverse=True), key=lambda item: -item[1])
    return [each for each, count in ranked if count >= fraction * counts.total()]
