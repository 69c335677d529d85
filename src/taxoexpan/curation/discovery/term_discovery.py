"""New concepts from a corpus: two passes over it, and the candidates in order of their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from tqdm import tqdm

from taxoexpan.curation.discovery.candidate_ranking import Scores, score_candidates
from taxoexpan.curation.discovery.candidates import Watched, choose_candidates
from taxoexpan.curation.discovery.contexts import collect_evidence
from taxoexpan.curation.discovery.label_choice import (
    Abbreviations,
    Naming,
    forms_by_number,
    name_candidate,
    prefers_plural,
    shorts_by_number,
)
from taxoexpan.curation.discovery.nearest_known import is_double, measure_kinship
from taxoexpan.curation.discovery.observations import Evidence, Kind
from taxoexpan.curation.discovery.phrase_counts import CAPACITY, count_phrases
from taxoexpan.curation.discovery.words import Keys, spelling_key
from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.formats.tables.table_file import VALUE_SEPARATOR, table_text
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.known_names import known_names

TOP = 500
MIN_COUNT = 5

COMPARED = 2000
"""Candidates that are compared with the taxonomy, or four for each one that is asked for."""

DOUBLED = 0.7
"""What is left of the score of what the taxonomy may have already."""

LEAST_EXPLAINED = 0.02
"""The share of texts that say what letters stand for, from which on they are an abbreviation."""

COLUMNS = (
    "label",
    "definition",
    "synonyms",
    "count",
    "documents",
    "score",
    "might_duplicate",
    "example",
)


@dataclass(frozen=True, slots=True)
class Discovery:
    """A new concept, what the corpus says of it, and the label of what it might duplicate."""

    label: str
    definition: str
    synonyms: tuple[str, ...]
    count: int
    documents: int
    score: float
    might_duplicate: str
    example: str


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
) -> list[Discovery]:
    """Find concepts in a corpus that a taxonomy lacks, the best first.

    What is said fewer than `min_count` times is passed over. The corpus is read twice, by
    `workers` processes (one a core unless given), which does not change the result. `capacity` is
    how many phrases are counted at a time, and so how much memory is used.
    """
    names = known_names(taxonomy)
    keys = Keys({singular(word) for name in names for word in name.split()})
    texts = _told(read_documents(corpus), "counting", progress)
    tally = count_phrases(texts, keys, workers, capacity)
    watched = choose_candidates(tally, names, min_count)
    if not watched.known:
        often = pluralize(min_count, "time")
        message = f"no name of the taxonomy is said here {often} or more"
        raise FormatError(corpus, f"{message}; are the two about the same things?")
    if not watched.candidates:
        return []
    del tally  # it is the largest thing there is
    texts = _told(read_documents(corpus), "reading", progress)
    evidence = collect_evidence(texts, keys, watched, workers)
    scores = score_candidates(watched, evidence, names)
    counts = evidence.table
    finder = _Finder(taxonomy, names, watched, evidence, counts, Abbreviations.of(evidence))
    return finder.ranked(scores, encoder or StaticEncoder(), top)


def discoveries_text(path: Path, discoveries: Sequence[Discovery]) -> str:
    """The discoveries as a table, which can be read as a list of new concepts."""
    rows = (
        (
            found.label,
            found.definition,
            VALUE_SEPARATOR.join(found.synonyms),
            str(found.count),
            str(found.documents),
            f"{found.score:.4f}",
            found.might_duplicate,
            found.example,
        )
        for found in discoveries
    )
    return table_text(path, COLUMNS, rows)


@dataclass(frozen=True)
class _Finder:
    """All that is known when both passes are done."""

    taxonomy: Taxonomy
    names: Mapping[str, int]
    watched: Watched
    evidence: Evidence
    counts: Indices
    abbreviations: Abbreviations

    def ranked(self, scores: Scores, encoder: Encoder, top: int) -> list[Discovery]:
        """Name the best candidates, compare them with the taxonomy, and put them in order."""
        chosen = self._chosen(scores, max(COMPARED, 4 * top))
        namings = self._named(chosen)
        names = list(self.names)
        kinship = measure_kinship(encoder, [naming.label for naming in namings], names)
        spelled = {spelling_key(name): index for name, index in self.names.items()}
        found = []
        for number, naming, nearest, cosines in zip(
            chosen, namings, kinship.nearest.tolist(), kinship.cosines.tolist(), strict=True
        ):
            near = [(names[place], cosine) for place, cosine in zip(nearest, cosines, strict=True)]
            double = self._double(number, naming.label, near, spelled)
            closeness = max(0.0, sum(cosines) / len(cosines))
            score = float(scores[number]) * closeness
            found.append(self._discovery(number, naming, score, double))
        return sorted(found, key=lambda one: (-one.score, one.label))[:top]

    def _chosen(self, scores: Scores, most: int) -> list[int]:
        """The best candidates, without those that are only letters for something else."""
        chosen = (
            number
            for number in np.argsort(-scores, kind="stable").tolist()
            if scores[number] > 0 and not self._is_short_for_another(number)
        )
        return list(islice(chosen, most))

    def _is_short_for_another(self, number: int) -> bool:
        """Whether a candidate abbreviates another one, or now this and now that."""
        meant = self._meant_by(number)
        return self._is_short(number) and (meant is None or meant < len(self.watched.candidates))

    def _is_short(self, number: int) -> bool:
        """Whether a candidate is an abbreviation."""
        explained = self.abbreviations.explained(self.watched.candidates[number].spellings[0])
        documents = self.counts[number, Kind.DOCUMENTS]
        return explained > 0 and explained >= LEAST_EXPLAINED * int(documents)

    def _meant_by(self, number: int) -> int | None:
        """The phrase that a candidate abbreviates."""
        return self.abbreviations.meant_by(self.watched.candidates[number].spellings[0])

    def _named(self, chosen: Sequence[int]) -> list[Naming]:
        forms = forms_by_number(self.evidence)
        shorts = shorts_by_number(self.evidence, self.abbreviations)
        plural = prefers_plural(self.taxonomy.labels)
        return [name_candidate(forms[number], shorts.get(number, ()), plural) for number in chosen]

    def _double(
        self,
        number: int,
        label: str,
        near: Sequence[tuple[str, float]],
        spelled: Mapping[str, int],
    ) -> str:
        """The label of a known concept that this may be, or nothing."""
        meant, first_known = self._meant_by(number), len(self.watched.candidates)
        if meant is not None and meant >= first_known and self._is_short(number):
            return self.taxonomy.labels[self.watched.known[meant - first_known]]
        key = spelling_key(label)
        if key in spelled:
            return self.taxonomy.labels[spelled[key]]
        doubles = (name for name, cosine in near if is_double(label, name, cosine))
        double = next(doubles, None)
        return "" if double is None else self.taxonomy.labels[self.names[double]]

    def _discovery(self, number: int, naming: Naming, score: float, double: str) -> Discovery:
        _, definition = self.evidence.definitions.get(number, (0, ""))
        return Discovery(
            label=naming.label,
            definition=definition,
            synonyms=naming.synonyms,
            count=int(self.counts[number, Kind.MENTIONS]),
            documents=int(self.counts[number, Kind.DOCUMENTS]),
            score=score * (DOUBLED if double else 1),
            might_duplicate=double,
            example=self.evidence.examples[number][1],
        )


def _told(texts: Iterator[str], doing: str, progress: bool) -> Iterator[str]:
    """The texts, with a bar on standard error that counts them."""
    return iter(
        tqdm(texts, desc=doing, unit=" texts", leave=False, disable=None if progress else True)
    )
