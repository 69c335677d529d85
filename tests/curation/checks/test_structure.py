from __future__ import annotations

import numpy as np
import pytest

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.curation.checks.structure import BATCH_SIZE, MAX_CHAIN_LENGTH, MAX_CHILDREN
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import random_taxonomy, star
from tests.support.labeled_taxonomies import build


def chain(count: int) -> Taxonomy:
    names = [f"c{i}" for i in range(count)]
    return Taxonomy.from_columns(names, names, np.arange(count - 1), np.arange(1, count))


def test_an_isolated_concept_is_a_warning() -> None:
    found = check_taxonomy(build({"a": "food", "b": "fruit", "s": "stone"}, "ab"))
    message = "'stone' has neither parent nor child"
    assert found == [Finding("isolated-concept", "warning", "s", message)]


def test_a_deprecated_concept_may_be_isolated() -> None:
    concepts = [Concept("a", "food"), Concept("b", "fruit"), Concept("s", "stone", deprecated=True)]
    assert check_taxonomy(Taxonomy(concepts, [("a", "b")])) == []


def test_a_concept_with_only_deprecated_parents_is_a_warning() -> None:
    old = [Concept("o", "victuals", deprecated=True), Concept("p", "grub", deprecated=True)]
    new = [Concept("r", "food"), Concept("a", "apple"), Concept("b", "bread")]
    relations = [("r", "a"), ("o", "a"), ("o", "b"), ("p", "b")]
    message = (
        "'bread' is not deprecated, but its parents 'victuals' (o), 'grub' (p) are all deprecated; "
        "give it a parent that is not deprecated, or deprecate it too"
    )
    found = check_taxonomy(Taxonomy([*old, *new], relations))
    assert found == [Finding("deprecated-parent", "warning", "b", message, parent="o")]


def test_a_deprecated_concept_may_have_deprecated_parents() -> None:
    old = [Concept("o", "victuals", deprecated=True), Concept("p", "grub", deprecated=True)]
    assert check_taxonomy(Taxonomy([*old, Concept("r", "food")], [("o", "p"), ("r", "o")])) == []


def test_a_branch_outside_the_main_root_is_an_orphan() -> None:
    labels = {"r": "food", "a": "apple", "b": "bread", "t": "tool", "h": "hammer"}
    message = (
        "'tool' has children but no parent, and the root 'food' (r) covers 3 of 5 concepts; "
        "check whether a relation is missing"
    )
    found = check_taxonomy(build(labels, "ra", "rb", "th"))
    assert found == [Finding("orphan-concept", "info", "t", message)]


def test_a_root_covers_descendants_through_any_parent() -> None:
    labels = {"t": "tool", "h": "hammer", "r": "food", "a": "apple", "b": "bread", "c": "corn"}
    assert [f.place for f in check_taxonomy(build(labels, "th", "ra", "rb", "hc", "rc"))] == ["t"]


def test_no_branch_is_an_orphan_if_no_root_covers_most_concepts() -> None:
    labels = {"r": "food", "a": "apple", "t": "tool", "h": "hammer"}
    assert check_taxonomy(build(labels, "ra", "th")) == []


def test_a_long_chain_is_reported_once_where_it_becomes_too_long() -> None:
    (finding,) = check_taxonomy(chain(MAX_CHAIN_LENGTH + 5))
    assert (finding.code, finding.severity) == ("long-chain", "info")
    assert finding.place == f"c{MAX_CHAIN_LENGTH}"
    assert "has 21 concepts and continues for 4 more; look for a wrong relation" in finding.message


def test_the_longer_of_two_paths_is_counted() -> None:
    names = [f"c{i}" for i in range(MAX_CHAIN_LENGTH + 4)]
    last = len(names) - 1
    parents = [*range(last), MAX_CHAIN_LENGTH]
    children = [*range(1, last + 1), last]
    taxonomy = Taxonomy.from_columns(names, names, np.array(parents), np.array(children))
    assert "continues for 3 more" in next(
        f.message for f in check_taxonomy(taxonomy) if f.code == "long-chain"
    )


def test_a_chain_of_the_maximum_length_is_no_finding() -> None:
    assert check_taxonomy(chain(MAX_CHAIN_LENGTH)) == []


def test_a_concept_with_too_many_children_is_a_hub() -> None:
    (finding,) = check_taxonomy(star(MAX_CHILDREN + 1))
    assert (finding.code, finding.severity, finding.place) == ("hub", "info", "c0")
    assert "'c0' has 201 children" in finding.message
    assert check_taxonomy(star(MAX_CHILDREN)) == []


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
    monkeypatch.setattr("taxoexpan.curation.checks.structure.BATCH_SIZE", batch_size)
    taxonomy = random_taxonomy(seed)
    expected = [
        child
        for child in taxonomy
        for parent in taxonomy.parents(child)
        if any(parent in taxonomy.ancestors(other) for other in taxonomy.parents(child))
    ]
    found = [f.place for f in check_taxonomy(taxonomy) if f.code == "redundant-relation"]
    assert sorted(found) == sorted(expected)
