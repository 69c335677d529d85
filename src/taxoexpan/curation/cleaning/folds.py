"""Folds: groups of concepts whose parents are hidden in turn, their scores, and the result."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.explain import Evidence, describe_move
from taxoexpan.files import write_whole
from taxoexpan.files.inputs import parse_json, read_regular
from taxoexpan.formats.tables.formulas import protect_cells
from taxoexpan.formats.tables.table import csv_text
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices

_OTHER_FOLDER = "choose another folder"
_NAME = re.compile(r"fold-(\d+)\.npz")


def concepts_to_check(taxonomy: Taxonomy, inner: bool = False) -> Indices:
    """Return the leaves that have a parent, or with `inner` all concepts that have a parent."""
    has_parent = taxonomy.parents_of.degrees > 0
    return np.flatnonzero(has_parent if inner else has_parent & (taxonomy.children_of.degrees == 0))


def split_into_folds(concepts: Indices, folds: int, seed: int) -> list[Indices]:
    """Split the concepts at random into `folds` groups of about the same size."""
    if not isinstance(folds, int) or folds < 2:
        raise ConfigurationError(f"folds is {folds!r}", fix="it must be a whole number, at least 2")
    if len(concepts) < folds:
        raise ConfigurationError(
            f"{pluralize(len(concepts), 'concept')} to check cannot be split into {folds} folds",
            fix="use fewer folds or a larger taxonomy",
        )
    shuffled = np.random.default_rng(seed).permutation(concepts)
    return [np.sort(group) for group in np.array_split(shuffled, folds)]


def hide_parents(taxonomy: Taxonomy, queries: Indices) -> Taxonomy:
    """Return the taxonomy without the parents of the queries: remove leaves, make others roots."""
    parents, children = taxonomy.relation_indices
    is_query = np.zeros(len(taxonomy), dtype=np.bool_)
    is_query[queries] = True
    kept = ~is_query[children]
    remaining = Taxonomy.from_columns(
        ids=taxonomy.ids,
        labels=taxonomy.labels,
        parents=parents[kept],
        children=children[kept],
        synonyms=taxonomy.synonyms,
        definitions=taxonomy.definitions,
        deprecated=taxonomy.deprecated,
        foreign_names=taxonomy.foreign_names,
        reserved=taxonomy.reserved,
    )
    leaves = queries[taxonomy.children_of.degrees[queries] == 0]
    return remaining.without([taxonomy.ids[i] for i in leaves.tolist()])


@dataclass(frozen=True, eq=False)
class RelationScores:
    """The scores of relations, one row per relation; concepts are indices in the taxonomy.

    `ranks` do not count the concept's other parents. `better` are the best anchors that are not
    ancestors of the concept. Confidences are NaN without a calibration. `reasons` is evidence as
    JSON by (concept, parent).
    """

    concepts: Indices
    parents: Indices
    ranks: Indices
    log_scores: Floats
    better: Indices
    better_log_scores: Floats
    confidences: Floats
    better_confidences: Floats
    reasons: Mapping[tuple[int, int], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def suspicions(self) -> Floats:
        """The logarithm of the ratio of the better anchor's score to the parent's score."""
        return self.better_log_scores - self.log_scores

    @property
    def order(self) -> Indices:
        """The rows, most suspicious first; ties are in taxonomy order."""
        return np.lexsort((self.parents, self.concepts, -self.suspicions))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in _COLUMNS}

    @classmethod
    def concatenate(cls, parts: Sequence[RelationScores]) -> RelationScores:
        """Concatenate the rows of all parts."""
        columns = [part.columns() for part in parts]
        joined = {name: np.concatenate([each[name] for each in columns]) for name in _COLUMNS}
        reasons = {pair: reason for part in parts for pair, reason in part.reasons.items()}
        return cls(**joined, reasons=reasons)


_COLUMNS = [column.name for column in fields(RelationScores) if column.name != "reasons"]


@dataclass(frozen=True)
class FoldFiles:
    """A directory with the finished folds of one run; `identity` distinguishes runs."""

    folder: Path
    identity: str

    def load(self) -> dict[int, RelationScores]:
        """Read all saved folds by number; refuse a damaged fold or a fold of another run."""
        return {number: self._read(path) for number, path in sorted(_files_in(self.folder))}

    def save(self, number: int, scores: RelationScores) -> None:
        """Save a finished fold: the scores as columns, the reasons as JSON."""
        content = io.BytesIO()
        reasons = [[*pair, reason] for pair, reason in scores.reasons.items()]
        columns: dict[str, Any] = {
            "identity": np.array(self.identity),
            "reasons": np.frombuffer(json.dumps(reasons).encode(), np.uint8),
            **scores.columns(),
        }
        np.savez(content, **columns)
        self.folder.mkdir(exist_ok=True)
        try:
            write_whole({self.folder / f"fold-{number}.npz": content.getvalue()}, force=True)
        except BaseException:
            _remove_if_empty(self.folder)
            raise

    def _read(self, path: Path) -> RelationScores:
        try:
            with np.load(io.BytesIO(read_regular(path)), allow_pickle=False) as arrays:
                identity = str(arrays["identity"])
                reasons = parse_json(arrays["reasons"].tobytes())
                columns = {name: arrays[name] for name in _COLUMNS}
                evidence = {(concept, parent): reason for concept, parent, reason in reasons}
        except Exception as error:  # damaged files cause errors of many kinds
            message = f"cannot read this fold ({error})"
            raise FormatError(path, message, fix="delete it to compute it again") from None
        if identity != self.identity:
            raise FormatError(
                path,
                "this fold belongs to another run with another taxonomy, settings, "
                "seed, folds or top",
                fix=f"repeat that command, delete {self.folder}, or {_OTHER_FOLDER}",
                option="work",
            )
        return RelationScores(**columns, reasons=evidence)


def remove_folds(folder: Path) -> None:
    """Delete the saved folds, and the directory if it is empty afterwards."""
    for _, path in _files_in(folder):
        path.unlink(missing_ok=True)
    _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    """Delete a directory unless it has files."""
    with suppress(OSError):
        folder.rmdir()


def _files_in(folder: Path) -> list[tuple[int, Path]]:
    """Return the numbers and files of the saved folds in a directory."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, "is a file", fix=_OTHER_FOLDER, option="work")
    paths = folder.iterdir() if folder.exists() else ()
    return [(int(name[1]), path) for path in paths if (name := _NAME.fullmatch(path.name))]


SUSPICION_COLUMNS = (
    "concept", "concept_id", "parent_id", "parent_label", "path", "rank", "share",
    "better_id", "better_label", "better_path", "better_share", "suspicion",
    "confidence", "parent_confidence", "why",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuspiciousRelation:
    """A relation of the taxonomy, scored by a model that was not trained on it.

    `rank` is the rank of the parent among all anchors, and `score` its softmax probability.
    `better` is the best anchor that is not an ancestor of the concept; `confidence` is its
    confidence. The first suggestion of the `evidence` is the better parent, and its runner-up is
    the parent.
    """

    concept: Concept
    parent: Concept
    path: tuple[str, ...]
    rank: int
    score: float
    better: Concept
    better_path: tuple[str, ...]
    better_score: float
    suspicion: float
    confidence: float | None = None
    parent_confidence: float | None = None
    evidence: Evidence | None = None

    @property
    def has_better_parent(self) -> bool:
        """Whether the model prefers another parent to the current one."""
        return self.rank > 1 and self.suspicion > 0

    @property
    def why(self) -> str:
        """The evidence in words."""
        return "" if self.evidence is None else describe_move(self.evidence)

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the relation as a row of `SUSPICION_COLUMNS`."""
        return {
            "concept": self.concept.label,
            "concept_id": self.concept.id,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "rank": self.rank,
            "share": _six_digits(self.score),
            "better_id": self.better.id,
            "better_label": self.better.label,
            "better_path": " > ".join(self.better_path),
            "better_share": _six_digits(self.better_score),
            "suspicion": _six_digits(self.suspicion),
            "confidence": _rounded(self.confidence),
            "parent_confidence": _rounded(self.parent_confidence),
            "why": self.why,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the row together with the evidence, for JSON."""
        evidence = None if self.evidence is None else self.evidence.to_dict()
        return {**self.as_dict(), "evidence": evidence}


def suspicious_relations(taxonomy: Taxonomy, scores: RelationScores) -> list[SuspiciousRelation]:
    """Return all scored relations, most suspicious first; ties are in taxonomy order."""
    order = scores.order
    columns = {name: column[order] for name, column in scores.columns().items()}
    for name in ("log_scores", "better_log_scores"):
        columns[name] = np.exp(columns[name])
    reasons = {pair: Evidence.from_dict(reason) for pair, reason in scores.reasons.items()}
    return [
        SuspiciousRelation(
            concept=taxonomy.concept_at(concept),
            parent=taxonomy.concept_at(parent),
            path=taxonomy.path(taxonomy.ids[parent]),
            rank=rank,
            score=score,
            better=taxonomy.concept_at(better),
            better_path=taxonomy.path(taxonomy.ids[better]),
            better_score=better_score,
            suspicion=suspicion,
            confidence=None if math.isnan(better_confidence) else better_confidence,
            parent_confidence=None if math.isnan(confidence) else confidence,
            evidence=reasons.get((concept, parent)),
        )
        for (
            concept, parent, rank, score, better, better_score, confidence, better_confidence,
            suspicion,
        ) in zip(
            *(column.tolist() for column in columns.values()),
            scores.suspicions[order].tolist(),
            strict=True,
        )
    ]  # fmt: skip


def suspicious_relations_csv(relations: Iterable[SuspiciousRelation]) -> str:
    """Return the relations as a CSV table; formulas are escaped."""
    return csv_text(
        SUSPICION_COLUMNS, (protect_cells(relation.as_dict()) for relation in relations)
    )


def _six_digits(number: float) -> float:
    return float(f"{number:.6g}")


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
