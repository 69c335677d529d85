from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taxoexpan.curation.cleaning.folds import (
    FoldFiles,
    RelationScores,
    concepts_to_check,
    hide_parents,
    remove_folds,
    split_into_folds,
)
from taxoexpan.errors import FormatError
from tests.support.builders import random_taxonomy


@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_concept_to_check_is_in_exactly_one_fold(seed: int, folds: int, inner: bool) -> None:
    taxonomy = random_taxonomy(seed, 40)
    concepts = concepts_to_check(taxonomy, inner)
    assume(len(concepts) >= folds)  # fewer concepts than folds are refused
    groups = split_into_folds(concepts, folds, seed)
    assert sorted(np.concatenate(groups).tolist()) == concepts.tolist()
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
    assert {taxonomy.ids[i] for i in concepts} == {
        id for id in taxonomy if taxonomy.parents(id) and (inner or not taxonomy.children(id))
    }


def test_folds_depend_only_on_the_seed() -> None:
    concepts = np.arange(50)
    first, same, other = (split_into_folds(concepts, 5, seed) for seed in (3, 3, 4))
    assert all(map(np.array_equal, first, same))
    assert not all(map(np.array_equal, first, other))


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_hide_parents_removes_only_the_relations_to_the_parents(seed: int) -> None:
    taxonomy = random_taxonomy(seed, 40)
    queries = split_into_folds(concepts_to_check(taxonomy, inner=True), 3, seed)[0]
    query_ids = {taxonomy.ids[i] for i in queries}
    remaining = hide_parents(taxonomy, queries)
    leaves = query_ids.intersection(taxonomy.leaves)
    assert set(remaining.concepts) == {c for c in taxonomy.concepts if c.id not in leaves}
    assert set(remaining.relations) == {
        pair for pair in taxonomy.relations if pair[1] not in query_ids
    }


def some_scores() -> RelationScores:
    whole, part = np.arange(3), np.array([0.5, 0.25, np.nan])
    reasons = {(1, 2): {"known": True, "words": ["a"]}}
    return RelationScores(whole, whole, whole, part, whole, part, part, part, reasons)


def test_a_saved_fold_keeps_its_scores_and_reasons(tmp_path: Path) -> None:
    scores, files = some_scores(), FoldFiles(tmp_path / "folds", "x")
    files.save(1, scores)
    (loaded,) = files.load().values()
    assert loaded.reasons == scores.reasons
    for name, column in scores.columns().items():
        assert np.array_equal(loaded.columns()[name], column, equal_nan=column.dtype == float)


@pytest.mark.parametrize("damage", ["truncated", "column", "reasons"])
def test_a_damaged_fold_is_refused_with_a_remedy(tmp_path: Path, damage: str) -> None:
    files, path = FoldFiles(tmp_path, "x"), tmp_path / "fold-1.npz"
    files.save(1, some_scores())
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-30])
    else:
        with np.load(path) as stored:
            columns = {name: stored[name] for name in stored.files if name != "ranks"}
        deep = np.frombuffer(b"[" * 100_000, np.uint8)
        np.savez(path, **(columns if damage == "column" else {**columns, "reasons": deep}))
    with pytest.raises(FormatError, match=r"fold-1.npz.*delete it to compute it again"):
        files.load()


def test_remove_folds_deletes_nothing_else(tmp_path: Path) -> None:
    for name in ("fold-1.npz", "fold-12.npz", "fold-x.npz"):
        (tmp_path / name).touch()
    remove_folds(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fold-x.npz"]
    remove_folds(tmp_path / "none")
