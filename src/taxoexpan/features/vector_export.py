"""Writes the vectors of concepts to files: as numpy arrays, or as word2vec text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.features.encoder import Vectors
from taxoexpan.taxonomy import Concept

SUFFIXES = (".npz", ".vec", ".txt")
"""The file types for vectors: numpy, or word2vec text with either suffix."""


def refuse_suffix(path: Path) -> None:
    """Refuse an unsupported file type before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        message = f"vectors cannot be written as {path.suffix or 'a file without a suffix'}"
        raise FormatError(path, f"{message}; choose one of {', '.join(SUFFIXES)}")


def vectors_content(path: Path, concepts: Sequence[Concept], both: Vectors) -> bytes:
    """The content of a file of this name for vectors [2, N, D].

    A `.npz` file has the arrays `ids`, `labels`, `vectors` and `heads`. word2vec text has the
    first vector of each concept under all its names, and can be used as `vectors:FILE`.
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
    """The row of each name with a vector; labels take precedence over synonyms."""
    known = np.flatnonzero(vectors.any(axis=1)).tolist()
    labels = [(concepts[row].label, row) for row in known]
    synonyms = [(name, row) for row in known for name in concepts[row].synonyms]
    rows: dict[str, int] = {}
    for name, row in labels + synonyms:
        rows.setdefault("_".join(name.lower().split()), row)
    rows.pop("", None)
    return rows


def _word2vec_text(rows: dict[str, int], vectors: Vectors) -> str:
    """A header, and one line per name; nine digits preserve single precision exactly."""
    lines = [f"{len(rows)} {vectors.shape[1]}"]
    for name, row in rows.items():
        lines.append(f"{name} {' '.join(f'{number:.9g}' for number in vectors[row].tolist())}")
    return "\n".join(lines) + "\n"
