from __future__ import annotations

import pytest
from builders import random_taxonomy
from labeled_taxonomies import build

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.curation.checks.redundant_relations import BATCH_SIZE


def test_a_parent_that_is_an_ancestor_of_another_parent_is_redundant() -> None:
    taxonomy = build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc", "ac")
    message = "'apple' is a child of 'food' (a) and also a descendant of it through another parent"
    assert check_taxonomy(taxonomy) == [
        Finding("redundant-relation", "info", "c", message, parent="a")
    ]


def test_a_redundant_parent_is_found_through_a_long_path() -> None:
    taxonomy = build(dict(zip("abcde", "vwxyz", strict=True)), "ab", "bc", "cd", "de", "ae")
    assert [finding.place for finding in check_taxonomy(taxonomy)] == ["e"]


def test_two_paths_to_the_same_ancestor_are_not_redundant() -> None:
    taxonomy = build(dict(zip("abcd", "wxyz", strict=True)), "ab", "ac", "bd", "cd")
    assert check_taxonomy(taxonomy) == []


@pytest.mark.parametrize("batch_size", [3, BATCH_SIZE])
@pytest.mark.parametrize("seed", range(15))
def test_redundant_relations_are_exactly_those_implied_by_others(
    seed: int, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taxoexpan.curation.checks.redundant_relations.BATCH_SIZE", batch_size)
    taxonomy = random_taxonomy(seed)
    expected = [
        child
        for child in taxonomy
        for parent in taxonomy.parents(child)
        if any(parent in taxonomy.ancestors(other) for other in taxonomy.parents(child))
    ]
    found = [f.place for f in check_taxonomy(taxonomy) if f.code == "redundant-relation"]
    assert sorted(found) == sorted(expected)
