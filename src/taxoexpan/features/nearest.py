"""Vectors to look at and to keep: the nearest concepts of a term, and files of vectors."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.features.encoder import Vectors
from taxoexpan.taxonomy import Concept

SUFFIXES = (".npz", ".vec", ".txt")
"""What a file of vectors may be: numpy's, or word2vec's text under either name."""


class NearestConcept(NamedTuple):
    """A concept, and its cosine with what was asked for."""

    concept: Concept
    cosine: float


def nearest_concepts(
    concepts: Sequence[Concept], vectors: Vectors, query: Vectors, most: int
) -> list[NearestConcept]:
    """The concepts nearest to a query [D] by their unit vectors [N, D], the nearest first."""
    cosines = vectors @ query
    found = np.argsort(-cosines, kind="stable")[:most]
    return [NearestConcept(concepts[row], float(cosines[row])) for row in found.tolist()]


def refuse_suffix(path: Path) -> None:
    """Refuse, before any work is done, a file of a kind that is not written."""
    if path.suffix.lower() not in SUFFIXES:
        message = f"vectors are not written as {path.suffix or 'a file without an ending'}"
        raise FormatError(path, f"{message}; choose one of {', '.join(SUFFIXES)}")


def vectors_content(path: Path, concepts: Sequence[Concept], both: Vectors) -> bytes:
    """Vectors [2, N, D] as the bytes of a file of this name.

    A `.npz` has `ids`, `labels`, `vectors` and `heads`. word2vec's text has the first vectors by
    name, every synonym too, and can be given as `vectors:FILE`.
    """
    refuse_suffix(path)
    if path.suffix.lower() == ".npz":
        file = io.BytesIO()
        ids = np.array([concept.id for concept in concepts], dtype=np.str_)
        labels = np.array([concept.label for concept in concepts], dtype=np.str_)
        np.savez(file, ids=ids, labels=labels, vectors=both[0], heads=both[1])
        return file.getvalue()
    rows = _rows_by_name(concepts, both[0])
    if not rows:
        raise FormatError(path, "no concept has a vector; choose other features")
    return _word2vec_text(rows, both[0]).encode()


def _rows_by_name(concepts: Sequence[Concept], vectors: Vectors) -> dict[str, int]:
    """The row of each name that has a vector; labels come before synonyms, and first ones count."""
    known = np.flatnonzero(vectors.any(axis=1)).tolist()
    labels = [(concepts[row].label, row) for row in known]
    synonyms = [(name, row) for row in known for name in concepts[row].synonyms]
    rows: dict[str, int] = {}
    for name, row in labels + synonyms:
        rows.setdefault("_".join(name.lower().split()), row)
    rows.pop("", None)
    return rows


def _word2vec_text(rows: dict[str, int], vectors: Vectors) -> str:
    """A header, and a line a name; the numbers are as exact as single precision is."""
    lines = [f"{len(rows)} {vectors.shape[1]}"]
    for name, row in rows.items():
        lines.append(f"{name} {' '.join(f'{number:.9g}' for number in vectors[row].tolist())}")
    return "\n".join(lines) + "\n"
