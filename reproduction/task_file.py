"""A task as an `.npz` file, with which a machine without an encoder can train and score."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reproduction.task import Task
from taxoexpan.errors import FormatError
from taxoexpan.evaluation.methods import Problem
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.learned.duplicates import DuplicateCandidates
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices

FILE_KIND = "taxoexpan-task-2"
PARTS = ("validation", "test")
MENTION_ARRAYS = ("mention_offsets", "mentioned", "mention_kinds")

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, KeyError, IndexError, zipfile.BadZipFile, zlib.error
)  # fmt: skip

Arrays = Mapping[str, NDArray[Any]]


def task_bytes(task: Task) -> bytes:
    """Return the content of the `.npz` file of a task."""
    p, file = task.problem, io.BytesIO()
    parents, children = p.taxonomy.relation_indices
    heads, head_of = np.unique(_stack_vectors(task, 1), axis=0, return_inverse=True)
    arrays: dict[str, Any] = {
        "kind": np.array(FILE_KIND),
        "name": np.array(task.name),
        "features": np.array(task.features),
        "ids": np.array(p.taxonomy.ids, dtype=np.str_),
        "labels": np.array([*p.taxonomy.labels, *task.labels], dtype=np.str_),
        "parents": parents,
        "children": children,
        "vectors": _compact(_stack_vectors(task, 0)),
        "heads": _compact(heads),
        "head_of": head_of.ravel(),
        **_mention_arrays("training", p.mentions),
    }
    for part, queries in zip(PARTS, (p.validation, task.test), strict=True):
        arrays[f"{part}_truth"] = np.concatenate(queries.parents)
        arrays[f"{part}_counts"] = np.array([len(true) for true in queries.parents])
        arrays |= _mention_arrays(part, queries.mentions)
    for part, duplicates in task.duplicates.items():
        arrays[f"{part}_duplicates"] = duplicates.indices
        arrays[f"{part}_duplicate_odds"] = duplicates.log_odds
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def load_task(path: Path) -> Task:
    """Read the file of a task."""
    fix = "make it with `python -m reproduction prepare`"
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # numpy would suggest opening it as a pickle
                raise ValueError("not an .npz file")
        with np.load(path, allow_pickle=False) as arrays:
            if str(arrays["kind"]) != FILE_KIND:
                raise ValueError(f"its kind is {arrays['kind']}, not {FILE_KIND}")
            return _task_from({name: arrays[name] for name in arrays.files})
    except FileNotFoundError:
        raise FormatError(path, "the file does not exist", fix=fix) from None
    except _DAMAGE as error:
        raise FormatError(path, f"not a task file ({error})", fix=fix) from None


def _task_from(arrays: Arrays) -> Task:
    ids, labels = arrays["ids"].tolist(), arrays["labels"].tolist()
    size = len(ids)
    parents, children = (arrays[name].astype(np.int64) for name in ("parents", "children"))
    taxonomy = Taxonomy.from_columns(ids, labels[:size], parents, children)
    truths = [_split_truth(arrays, part) for part in PARTS]
    both = np.stack([arrays["vectors"], arrays["heads"][arrays["head_of"]]]).astype(np.float32)
    ends = np.cumsum([size, *map(len, truths)])[:-1]
    vectors, *query_vectors = (torch.from_numpy(v.copy()) for v in np.split(both, ends, axis=1))
    rows = (size, *map(len, truths))
    own, *mentions = (
        _read_mentions(arrays, part, count, size)
        for part, count in zip(("training", *PARTS), rows, strict=True)
    )
    validation, test = (
        LabeledQueries(of_queries, mentioned, parents=truth)
        for of_queries, mentioned, truth in zip(query_vectors, mentions, truths, strict=True)
    )
    problem = Problem(taxonomy, vectors, validation, own)
    duplicates = _read_duplicates(arrays, dict(zip(PARTS, rows[1:], strict=True)), size)
    name, features = str(arrays["name"]), str(arrays["features"])
    return Task(name, features, problem, test, tuple(labels[size:]), duplicates)


def _stack_vectors(task: Task, which: int) -> NDArray[np.float32]:
    """Return one of the two vectors of all concepts, then of both sets of queries."""
    parts = (task.problem.vectors, task.problem.validation.vectors, task.test.vectors)
    return torch.cat([part[which].cpu() for part in parts]).numpy()


def _compact(vectors: NDArray[np.float32]) -> NDArray[np.floating]:
    """Return the vectors in half precision if that loses nothing."""
    half = vectors.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), vectors) else vectors


def _split_truth(arrays: Arrays, part: str) -> Sequence[Indices]:
    """Return the indices of each query's true parents."""
    ends = np.cumsum(arrays[f"{part}_counts"].astype(np.int64))[:-1]
    return np.split(arrays[f"{part}_truth"].astype(np.int64), ends)


def _mention_arrays(part: str, mentions: Mentions | None) -> dict[str, Any]:
    if mentions is None:
        return {}
    arrays = (mentions.of_row.offsets, mentions.of_row.targets, mentions.kinds)
    return {f"{part}_{name}": array for name, array in zip(MENTION_ARRAYS, arrays, strict=True)}


def _read_mentions(arrays: Arrays, part: str, rows: int, size: int) -> Mentions | None:
    if f"{part}_{MENTION_ARRAYS[0]}" not in arrays:
        return None
    offsets, targets, kinds = (arrays[f"{part}_{n}"].astype(np.int64) for n in MENTION_ARRAYS)
    mentions = Mentions(Adjacency(offsets, targets), kinds)
    if len(mentions) != rows or not _are_concepts(targets, size):
        raise ValueError(f"the mentions of the {part} concepts do not fit")
    return mentions


def _read_duplicates(
    arrays: Arrays, rows: Mapping[str, int], size: int
) -> dict[str, DuplicateCandidates]:
    duplicates = {}
    for part, count in rows.items():
        if f"{part}_duplicates" in arrays:
            indices = arrays[f"{part}_duplicates"]
            if len(indices) != count or not _are_concepts(indices, size):
                raise ValueError(f"{part}_duplicates does not fit")
            duplicates[part] = DuplicateCandidates(indices, arrays[f"{part}_duplicate_odds"])
    return duplicates


def _are_concepts(indices: Indices, size: int) -> bool:
    """Whether all indices are indices of concepts."""
    return bool(((indices >= 0) & (indices < size)).all())
