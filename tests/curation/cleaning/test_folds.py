from __future__ import annotations

import numpy as np
from builders import random_taxonomy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taxoexpan.curation.cleaning.folds import concepts_to_check, hide_parents, split_into_folds


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
