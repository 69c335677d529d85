"""A task to compare methods on: a taxonomy with vectors, and queries whose parents are known."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.adjacency import Indices
from taxoexpan.baselines.method import Problem, Queries
from taxoexpan.errors import FormatError
from taxoexpan.features.concepts import embed_concepts, names_of, refuse_unknown
from taxoexpan.features.encoder import Encoder
from taxoexpan.formats.source import Source
from taxoexpan.naming import counted
from taxoexpan.supervision import Holdout, hold_out
from taxoexpan.taxonomy import Taxonomy

KIND = "taxoexpan-task-1"

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, KeyError, IndexError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A problem to learn from, and the queries that decide.

    `features` says what made the vectors; `labels` are those of the test queries.
    """

    name: str
    features: str
    problem: Problem
    test: Queries
    labels: tuple[str, ...]

    def to(self, device: torch.device) -> Task:
        """The same on another device."""
        p = self.problem
        moved = Problem(p.taxonomy, p.vectors.to(device), _moved(p.validation, device))
        return replace(self, problem=moved, test=_moved(self.test, device))

    def digest(self) -> str:
        """What tells this task from every other."""
        taxonomy, queries = self.problem.taxonomy, (self.problem.validation, self.test)
        texts = [self.name, self.features, taxonomy.ids, taxonomy.labels, self.labels]
        digest = hashlib.sha256(json.dumps(texts).encode())
        truth = [indices for those in queries for indices in _flat(those.parents)]
        for indices in (*taxonomy.relation_indices, *truth):
            digest.update(f"{len(indices)} ".encode())
            digest.update(np.ascontiguousarray(indices, dtype="<i8").tobytes())
        for vectors in (self.problem.vectors, *(those.vectors for those in queries)):
            digest.update(vectors.cpu().numpy().tobytes())
        return digest.hexdigest()[:16]


def make_task(name: str, encoder: Encoder, validation: Holdout, test: Holdout) -> Task:
    """Embed a taxonomy and the queries of both holdouts, which remain in the same taxonomy.

    Vectors that know nothing of the taxonomy are refused; queries without one are told.
    """
    taxonomy = validation.taxonomy
    encoder.learn(names_of([*taxonomy.concepts, *validation.concepts, *test.concepts]))
    vectors = embed_concepts(encoder, taxonomy.concepts)
    refuse_unknown(vectors, encoder.name)
    asked = _queries_of(validation, "validation", encoder)
    problem = Problem(taxonomy, torch.from_numpy(vectors), asked)
    labels = tuple(concept.label for concept in test.concepts)
    return Task(name, encoder.name, problem, _queries_of(test, "test", encoder), labels)


def read_split(terms: Path) -> tuple[Holdout, Holdout]:
    """The paper's protocol: a `.terms` file beside `.terms.validation` and `.terms.test`."""
    whole = _read_whole(terms)
    paths = [terms.with_name(f"{terms.name}.{part}") for part in ("validation", "test")]
    validation, test = (_held_lines(path, whole) for path in paths)
    _refuse_shared(paths[1], test, validation)
    training = whole.without([*validation, *test])
    return (
        _holdout_of(paths[0], validation, whole, training),
        _holdout_of(paths[1], test, whole, training),
    )


def halved(task: Task) -> Task:
    """The task with its vectors in half precision, so that its file is half as large."""

    def half(vectors: Tensor) -> Tensor:
        return vectors.half().float()

    p = task.problem
    validation = Queries(half(p.validation.vectors), p.validation.parents)
    problem = Problem(p.taxonomy, half(p.vectors), validation)
    return replace(task, problem=problem, test=Queries(half(task.test.vectors), task.test.parents))


def task_content(task: Task) -> bytes:
    """The bytes of a `.npz` with which a machine that has no encoder can train and score."""
    p, file = task.problem, io.BytesIO()
    parents, children = p.taxonomy.relation_indices
    heads, head_of = np.unique(_stacked(task, 1), axis=0, return_inverse=True)
    truth: dict[str, Any] = {
        **_truth_arrays("validation", p.validation.parents),
        **_truth_arrays("test", task.test.parents),
    }
    np.savez_compressed(
        file,
        kind=np.array(KIND),
        name=np.array(task.name),
        features=np.array(task.features),
        ids=np.array(p.taxonomy.ids, dtype=np.str_),
        labels=np.array([*p.taxonomy.labels, *task.labels], dtype=np.str_),
        parents=parents,
        children=children,
        vectors=_compact(_stacked(task, 0)),
        heads=_compact(heads),
        head_of=head_of.ravel(),
        **truth,
    )
    return file.getvalue()


def load_task(path: Path) -> Task:
    """Read what `task_content` made."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # numpy would advise to open it as a pickle
                raise ValueError("not an .npz file")
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["kind"]) != KIND:
                raise ValueError(f"of the kind {kept['kind']}")
            return _task_of({name: kept[name] for name in kept.files})
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; make it with reproduce prepare") from None
    except _DAMAGE as error:
        message = f"is no task of the paper's experiments ({error})"
        raise FormatError(path, f"{message}; make it with reproduce prepare") from None


def _task_of(kept: dict[str, NDArray[np.generic]]) -> Task:
    ids, labels = kept["ids"].tolist(), kept["labels"].tolist()
    both = np.stack([kept["vectors"], kept["heads"][kept["head_of"]]]).astype(np.float32)
    size = len(ids)
    parents, children = (kept[name].astype(np.int64) for name in ("parents", "children"))
    taxonomy = Taxonomy.from_columns(ids, labels[:size], parents, children)
    truths = [_truth_of(kept, name) for name in ("validation", "test")]
    places = np.cumsum([size, *(len(truth) for truth in truths)])
    vectors, *of_queries = (torch.from_numpy(v.copy()) for v in np.split(both, places[:-1], axis=1))
    validation, test = (Queries(v, t) for v, t in zip(of_queries, truths, strict=True))
    problem = Problem(taxonomy, vectors, validation)
    name, features = str(kept["name"]), str(kept["features"])
    return Task(name, features, problem, test, tuple(labels[size:]))


def _stacked(task: Task, which: int) -> NDArray[np.float32]:
    """One of the two vectors of all concepts, then of both sets of queries."""
    parts = (task.problem.vectors, task.problem.validation.vectors, task.test.vectors)
    return torch.cat([part[which].cpu() for part in parts]).numpy()


def _compact(vectors: NDArray[np.float32]) -> NDArray[np.floating]:
    """Half precision, if nothing is lost by it."""
    half = vectors.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), vectors) else vectors


def _truth_arrays(name: str, parents: Sequence[Indices]) -> dict[str, Indices]:
    truth, counts = _flat(parents)
    return {f"{name}_truth": truth, f"{name}_counts": counts}


def _flat(parents: Sequence[Indices]) -> tuple[Indices, Indices]:
    """The parents of all queries one after another, and how many each has."""
    return np.concatenate(parents), np.array([len(each) for each in parents])


def _truth_of(kept: dict[str, NDArray[np.generic]], name: str) -> list[Indices]:
    places = np.cumsum(kept[f"{name}_counts"].astype(np.int64))[:-1]
    return np.split(kept[f"{name}_truth"].astype(np.int64), places)


def _queries_of(held: Holdout, part: str, encoder: Encoder) -> Queries:
    """Embed what is held out, and say how much of it has no vector."""
    both = embed_concepts(encoder, held.concepts)
    unknown, size = int((~both[0].any(axis=1)).sum()), both.shape[1]
    if unknown:
        message = f"{unknown:,} of {size:,} {part} queries have no vector by {encoder.name!r}"
        mend = "such ranks mean nothing; another one beside it, as static+…, may know them"
        warnings.warn(f"{message}; {mend}", stacklevel=3)
    return Queries(torch.from_numpy(both), held.parents)


def _read_whole(terms: Path) -> Taxonomy:
    """The taxonomy before anything is held out; without relations there is nothing to find."""
    if terms.suffix != ".terms":
        message = "a split lies beside a .terms file, and this is none"
        mend = "give NAME.terms, which taxoexpan convert makes of other formats"
        raise FormatError(terms, f"{message}; {mend}")
    whole = Taxonomy.read(terms)
    if not whole.relation_count:
        taxo = terms.with_suffix(".taxo")
        message = "holds no relation" if taxo.exists() else "there is no such file"
        mend = f"the relations of {terms.name} lie here, parent id<TAB>child id a line"
        raise FormatError(taxo, f"{message}; {mend}")
    return whole


def _held_lines(path: Path, whole: Taxonomy) -> dict[str, int]:
    """The ids in a list, an id a line, and the line where each stands first."""
    if not path.exists():
        message = "there is no such file; the split lies beside the .terms, an id a line"
        raise FormatError(path, message)
    lines: dict[str, int] = {}
    for number, line in enumerate(Source.load(path, may_be_blank=True).text.splitlines(), 1):
        if id := line.strip():
            lines.setdefault(id, number)
    for id, number in lines.items():
        if id not in whole:
            message = f"no concept of the taxonomy has the id {id!r}; correct it, or take it out"
            raise FormatError(path, message, number)
    return lines


def _refuse_shared(path: Path, test: dict[str, int], validation: Collection[str]) -> None:
    """Refuse to choose an epoch by what is tested."""
    shared = [id for id in test if id in validation]
    if shared:
        message = f"shares {counted(len(shared), 'id')} with the validation list"
        mend = "leave each in one of the two lists"
        raise FormatError(path, f"{message}, such as {shared[0]!r}; {mend}", test[shared[0]])


def _holdout_of(path: Path, ids: Collection[str], whole: Taxonomy, training: Taxonomy) -> Holdout:
    """The queries that a list makes; none is an error, and fewer than it names are told."""
    held = hold_out(whole, list(ids), training)
    if not held.concepts:
        message = "names no concept whose parent is in neither list; name some that have one"
        raise FormatError(path, message)
    made = {concept.id for concept in held.concepts}
    lost = [id for id in ids if id not in made]
    if lost:
        message = f"no query is made of {counted(len(lost), 'id')} without a parent in what remains"
        warnings.warn(f"{path}: {message}, such as {lost[0]!r}", stacklevel=3)
    return held


def _moved(queries: Queries, device: torch.device) -> Queries:
    return Queries(queries.vectors.to(device), queries.parents)
