from __future__ import annotations

import numpy as np

from taxoexpan import TaxoExpan
from taxoexpan.features.label_words import LabelWords, StoredNames, words_arrays, words_from_arrays
from taxoexpan.taxonomy import Concept
from tests.support.random_growth import grown

QUERIES = [Concept("", label) for label in ("smoked oat milk", "soup", "unheard of", "", "a b c")]


def test_restored_words_give_the_same_features(model: TaxoExpan) -> None:
    words = LabelWords.from_taxonomy(grown(model.taxonomy, 3))
    again = words_from_arrays(words_arrays(words))
    own, restored = words.of_queries(QUERIES), again.of_queries(QUERIES)
    size = len(words)
    assert np.array_equal(words.compare(own, 0, size), again.compare(restored, 0, size))
    assert dict(again.names) == dict(words.names)
    assert [again.has_name_in(each) for each in QUERIES] == [words.has_name_in(q) for q in QUERIES]
    rows = np.array([3, 1])
    chosen, same = words.select(rows), again.select(rows)
    assert np.array_equal(chosen.compare(own, 0, 2), same.compare(restored, 0, 2))


def test_words_are_not_copied(model: TaxoExpan) -> None:
    arrays = words_arrays(LabelWords.from_taxonomy(model.taxonomy))
    words = words_from_arrays(arrays)
    for name in ("labels", "weighted", "paths", "named"):
        matrix = getattr(words, name)
        for part in ("data", "indices", "indptr"):
            assert np.shares_memory(getattr(matrix, part), arrays[f"{name}.{part}"])


def test_names_are_sorted_once_and_found_by_binary_search() -> None:
    names = StoredNames.of({("tea",): 0, ("green", "tea"): 1, ("zest",): 2})
    assert list(names.texts) == ["green tea", "tea", "zest"]
    assert [names.get(w) for w in [("tea",), ("green", "tea"), ("zest",)]] == [0, 1, 2]
    assert [names.get(w, -1) for w in [("green",), ("zz",), ()]] == [-1, -1, -1]
    assert StoredNames.of(names) is names
