"""A task to compare methods on: a taxonomy with vectors, and queries whose parents are known."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import FormatError
from taxoexpan.experiments.methods.method import Problem
from taxoexpan.features.embedding import embed_concepts, names_of, refuse_unknown
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.duplicates import DuplicateCandidates, DuplicateDetector
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.holdout import Holdout

KIND = "taxoexpan-task-1"
MENTIONED = ("mention_offsets", "mentioned", "mention_kinds")

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, KeyError, IndexError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A problem to learn from, and the queries that decide.

    `features` says what made the vectors; `labels` are those of the test queries. `doubles` tell,
    for both sets of queries, what may be another name of what; there are none where the taxonomy
    has too few synonyms to learn that from.
    """

    name: str
    features: str
    problem: Problem
    test: LabeledQueries
    labels: tuple[str, ...]
    doubles: Mapping[str, DuplicateCandidates] = field(default_factory=dict)

    def to(self, device: torch.device) -> Task:
        """The same on another device."""
        return self._with(lambda vectors: vectors.to(device))

    def _with(self, changed: Callable[[Tensor], Tensor]) -> Task:
        """The same with other vectors."""

        def of(queries: LabeledQueries) -> LabeledQueries:
            return replace(queries, vectors=changed(queries.vectors))

        p = self.problem
        problem = replace(p, vectors=changed(p.vectors), validation=of(p.validation))
        return replace(self, problem=problem, test=of(self.test))

    def digest(self) -> str:
        """What tells this task from every other."""
        taxonomy, queries = self.problem.taxonomy, (self.problem.validation, self.test)
        texts = [self.name, self.features, taxonomy.ids, taxonomy.labels, self.labels]
        digest = hashlib.sha256(json.dumps(texts).encode())
        truth = [indices for those in queries for indices in _flat(those.parents)]
        for indices in (*taxonomy.relation_indices, *truth):
            digest.update(f"{len(indices)} ".encode())
            digest.update(np.ascontiguousarray(indices, dtype="<i8").tobytes())
        for part in (self.problem, *queries):
            digest.update(part.vectors.cpu().numpy().tobytes())
            if part.mentions is not None:
                for those in _mention_arrays("", part.mentions).values():
                    digest.update(those.tobytes())
        return digest.hexdigest()[:16]


def make_task(
    name: str,
    encoder: Encoder,
    validation: Holdout,
    test: Holdout,
    joined: bool = False,
    order: Mapping[str, Sequence[str]] | None = None,
) -> Task:
    """Embed a taxonomy and the queries of both holdouts, which remain in the same taxonomy.

    Vectors that know nothing of the taxonomy are refused; queries without one are told. Names and
    definitions may be `joined` (see `embed_concepts`), and `order` has the senses of names (see
    `Lexicon`) for what names and definitions mention.
    """
    taxonomy = validation.taxonomy
    concepts = list(taxonomy.concepts)
    encoder.learn(names_of([*concepts, *validation.concepts, *test.concepts]))
    embed = partial(embed_concepts, encoder, joined=joined)
    vectors = embed(concepts)
    refuse_unknown(vectors, encoder.name)
    lexicon, synonymy = (
        Lexicon.from_taxonomy(taxonomy, order),
        DuplicateDetector.learn(taxonomy, vectors, embed),
    )
    queries, doubles = {}, {}
    for part, held in (("validation", validation), ("test", test)):
        both = embed(held.concepts)
        _warn_of_unknown(both, part, encoder.name)
        mentions = lexicon.mentions(held.concepts)
        queries[part] = LabeledQueries(
            torch.from_numpy(both), mentions, held.concepts, held.parents
        )
        if synonymy is not None:
            doubles[part] = synonymy.candidates(held.concepts, both)
    own = lexicon.mentions(concepts, exclude_self=True)
    problem = Problem(taxonomy, torch.from_numpy(vectors), queries["validation"], own)
    labels = tuple(concept.label for concept in test.concepts)
    features = f"{encoder.name} joined" if joined else encoder.name
    return Task(name, features, problem, queries["test"], labels, doubles)


def with_half_precision(task: Task) -> Task:
    """The task with its vectors in half precision, so that its file is half as large."""
    return task._with(lambda vectors: vectors.half().float())


def task_bytes(task: Task) -> bytes:
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
        **_mention_arrays("training", p.mentions),
        **_mention_arrays("validation", p.validation.mentions),
        **_mention_arrays("test", task.test.mentions),
        **_double_arrays(task.doubles),
    )
    return file.getvalue()


def load_task(path: Path) -> Task:
    """Read what `task_bytes` made."""
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
    training, *mentions = (_mentions_in(kept, name) for name in ("training", "validation", "test"))
    validation, test = (
        LabeledQueries(own, mentioned, parents=truth)
        for own, mentioned, truth in zip(of_queries, mentions, truths, strict=True)
    )
    doubles = _doubles_in(kept)
    for rows, those in zip((size, *map(len, truths)), (training, *mentions), strict=True):
        if those is not None and not _fits(those.of_row.targets, size, len(those) == rows):
            raise ValueError("what concepts mention does not fit")
    for part, truth in zip(("validation", "test"), truths, strict=True):
        if part in doubles and not _fits(
            doubles[part].indices, size, len(doubles[part].indices) == len(truth)
        ):
            raise ValueError(f"{part}_doubles does not fit")
    problem = Problem(taxonomy, vectors, validation, training)
    name, features = str(kept["name"]), str(kept["features"])
    return Task(name, features, problem, test, tuple(labels[size:]), doubles)


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


def _mention_arrays(name: str, mentions: Mentions | None) -> dict[str, Any]:
    if mentions is None:
        return {}
    arrays = (mentions.of_row.offsets, mentions.of_row.targets, mentions.kinds)
    return {f"{name}_{part}": those for part, those in zip(MENTIONED, arrays, strict=True)}


def _mentions_in(kept: dict[str, NDArray[np.generic]], name: str) -> Mentions | None:
    """What concepts mention, where that is kept."""
    if f"{name}_{MENTIONED[0]}" not in kept:
        return None
    offsets, targets, kinds = (kept[f"{name}_{part}"].astype(np.int64) for part in MENTIONED)
    return Mentions(Adjacency(offsets, targets), kinds)


def _double_arrays(doubles: Mapping[str, DuplicateCandidates]) -> dict[str, Any]:
    indices = {f"{part}_doubles": those.indices for part, those in doubles.items()}
    return indices | {f"{part}_double_odds": those.log_odds for part, those in doubles.items()}


def _doubles_in(kept: dict[str, NDArray[Any]]) -> dict[str, DuplicateCandidates]:
    """What may be another name of what, where that is kept."""
    return {
        part: DuplicateCandidates(kept[f"{part}_doubles"], kept[f"{part}_double_odds"])
        for part in ("validation", "test")
        if f"{part}_doubles" in kept
    }


def _fits(indices: Indices, size: int, counted: bool) -> bool:
    """Whether there are as many as there should be, all of them indices of concepts."""
    return counted and bool(((indices >= 0) & (indices < size)).all())


def _truth_of(kept: dict[str, NDArray[np.generic]], name: str) -> list[Indices]:
    places = np.cumsum(kept[f"{name}_counts"].astype(np.int64))[:-1]
    return np.split(kept[f"{name}_truth"].astype(np.int64), places)


def _warn_of_unknown(both: Vectors, part: str, features: str) -> None:
    """Say how many queries have no vector."""
    unknown, size = int((~both[0].any(axis=1)).sum()), both.shape[1]
    if unknown:
        message = f"{unknown:,} of {size:,} {part} queries have no vector by {features!r}"
        mend = "such ranks mean nothing; another one beside it, as static+…, may know them"
        warnings.warn(f"{message}; {mend}", stacklevel=3)
