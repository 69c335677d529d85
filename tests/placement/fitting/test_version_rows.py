from __future__ import annotations

import numpy as np

from taxoexpan.placement.fitting.updating import VersionRows, growth_between
from taxoexpan.taxonomy import Concept, Taxonomy

OLD = Taxonomy(
    [
        Concept("food", "food"),
        Concept("milk", "milk", ("dairy",), "A drink."),
        Concept("tea", "tea", ("chai", "cha")),
        Concept("soup", "soup", (), "A meal.", deprecated=True),
        Concept("gone", "gone"),
    ],
    [("food", "milk"), ("food", "tea"), ("food", "soup"), ("food", "gone")],
)
NEW = Taxonomy(
    [
        Concept("cake", "cake"),
        Concept("soup", "soup", ("broth",)),
        Concept("tea", "green tea", ("cha", "chai")),
        Concept("milk", "milk", ("dairy",), "A drink."),
        Concept("food", "food", (), "Something to eat."),
    ],
    [("food", "milk"), ("milk", "tea"), ("food", "soup"), ("food", "cake")],
)
VERSIONS = VersionRows.match(OLD, NEW)


def ids(selected: np.ndarray) -> list[str]:
    """The ids of the newer concepts that are selected."""
    return [id for id, is_selected in zip(NEW.ids, selected, strict=True) if is_selected]


def test_concepts_are_matched_by_their_ids_in_both_directions() -> None:
    assert VERSIONS.old_of.tolist() == [-1, 3, 2, 1, 0]
    assert VERSIONS.new_of.tolist() == [4, 3, 2, 1, -1]
    assert ids(VERSIONS.is_new) == ["cake"]


def test_changed_texts_and_deprecations_are_found() -> None:
    assert ids(VERSIONS.has_other_texts) == ["cake", "soup", "tea", "food"]
    assert ids(VERSIONS.has_other_deprecation) == ["soup"]


def test_a_version_without_concepts_has_no_changes() -> None:
    empty = VersionRows.match(Taxonomy([]), NEW)
    assert empty.is_new.all()
    assert empty.has_other_texts.all()
    assert not empty.has_other_deprecation.any()


def test_relations_of_one_version_only_are_found() -> None:
    changes = growth_between(VERSIONS)
    assert sorted(changes.relations_added) == [("food", "cake"), ("milk", "tea")]
    assert sorted(changes.relations_removed) == [("food", "gone"), ("food", "tea")]


def test_other_neighbors_and_changed_neighbors_count_and_their_order_does_not() -> None:
    nothing = np.zeros(len(NEW), dtype=np.bool_)
    parents = VERSIONS.has_other_targets(OLD.parents_of, NEW.parents_of, nothing)
    assert ids(parents) == ["cake", "tea"]
    above = VERSIONS.has_other_targets(OLD.parents_of, NEW.parents_of, VERSIONS.has_other_texts)
    assert ids(above) == ["cake", "soup", "tea", "milk"]
    same = Taxonomy(OLD.concepts, reversed(OLD.relations))
    reordered = VersionRows.match(OLD, same)
    unchanged = np.zeros(len(same), dtype=np.bool_)
    assert not reordered.has_other_targets(OLD.children_of, same.children_of, unchanged).any()
