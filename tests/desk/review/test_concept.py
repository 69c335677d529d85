from __future__ import annotations

from typing import Any

from taxoexpan.desk.review.concept import branch_of, tree_around
from taxoexpan.desk.review.usable_parents import UsableParents
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy

KINDS = [f"kind {i} milk" for i in range(9)]
NAMES = ["food", "drink", "milk", "tea", "coffee", "juice", "water", *KINDS, "oat drink"]
FOOD = Taxonomy(
    [Concept(name, name) for name in NAMES],
    [
        ("food", "drink"),
        *(("drink", name) for name in NAMES[2:7]),
        *(("milk", name) for name in [*KINDS, "oat drink"]),
    ],
)
NEW = Concept("n", "Oat-Milk drink")


def tree(parent: str, *moves: str) -> dict[str, Any]:
    proposal = Suggestion(NEW, 1, FOOD.concept(parent), moves=moves)
    return tree_around(UsableParents(FOOD), proposal, NEW)


def test_the_tree_has_ancestors_siblings_and_the_nearest_children() -> None:
    found = tree("milk")
    levels = [(level.node.id if level.node else "", level.more) for level in found["levels"]]
    assert levels == [("", 0), ("food", 0), ("drink", 1)]
    assert [node.id for node in found["levels"][-1].others] == ["tea", "coffee", "juice"]
    assert found["children"][0].id == "oat drink"  # it shares two words
    assert (len(found["children"]), found["more_children"]) == (6, 4)
    assert found["parent"].id == "milk"


def test_children_that_may_move_are_listed_apart() -> None:
    found = tree("milk", "kind 1 milk", "unknown")
    assert [node.id for node in found["moves"]] == ["kind 1 milk"]
    assert "kind 1 milk" not in [node.id for node in found["children"]]


def test_a_root_is_below_nothing_and_next_to_other_roots() -> None:
    (level,) = tree("food")["levels"]
    assert (level.node, level.below.id, level.more) == (None, "food", 0)


def test_the_rest_of_the_children_is_what_the_tree_leaves_out() -> None:
    shown = {node.id for node in tree("milk")["children"]}
    rest, more = branch_of(UsableParents(FOOD), "milk", NEW, without=shown)
    assert shown.isdisjoint(node.id for node in rest)
    assert (len(shown) + len(rest), more) == (10, 0)


def test_without_a_concept_the_branch_is_the_whole_taxonomy_in_parts() -> None:
    many = Taxonomy([Concept(str(number), str(number)) for number in range(450)])
    nodes, more = branch_of(UsableParents(many), "")
    assert (len(nodes), more) == (200, 250)
    nodes, more = branch_of(UsableParents(many), "", start=400)
    assert ([node.id for node in nodes][:1], len(nodes), more) == (["400"], 50, 0)


def test_a_branch_lists_all_children() -> None:
    nodes, more = branch_of(UsableParents(FOOD), "drink")
    assert [node.id for node in nodes][:2] == ["milk", "tea"]
    assert more == 0
