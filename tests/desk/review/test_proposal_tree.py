from __future__ import annotations

from taxoexpan.desk.review.proposal_tree import branch_of, rest_of_children, tree_around
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


def test_the_tree_has_ancestors_siblings_and_the_nearest_children() -> None:
    tree = tree_around(FOOD, "milk", NEW)
    assert [node.id for node in tree.ancestors] == ["food", "drink"]
    assert [node.id for node in tree.siblings] == ["tea", "coffee", "juice"]
    assert tree.more_siblings == 1
    assert tree.children[0].id == "oat drink"  # it shares two words
    assert (len(tree.children), tree.more_children) == (6, 4)
    assert tree.parent.child_count == 10


def test_children_that_may_move_are_listed_apart() -> None:
    tree = tree_around(FOOD, "milk", NEW, ["kind 1 milk", "unknown"])
    assert [node.id for node in tree.moves] == ["kind 1 milk"]
    assert "kind 1 milk" not in [node.id for node in tree.children]


def test_a_root_has_no_ancestors_and_no_siblings() -> None:
    tree = tree_around(FOOD, "food", NEW)
    assert (tree.ancestors, tree.siblings, tree.more_siblings) == ((), (), 0)


def test_the_rest_of_the_children_is_what_the_tree_leaves_out() -> None:
    shown = {node.id for node in tree_around(FOOD, "milk", NEW).children}
    rest, more = rest_of_children(FOOD, "milk", NEW)
    assert shown.isdisjoint(node.id for node in rest)
    assert (len(shown) + len(rest), more) == (10, 0)


def test_a_branch_lists_all_children() -> None:
    nodes, more = branch_of(FOOD, "drink")
    assert [(node.id, node.child_count) for node in nodes][:2] == [("milk", 10), ("tea", 0)]
    assert more == 0
