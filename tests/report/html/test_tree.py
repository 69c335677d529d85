from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.report.html import Neighbor, Tree, TreePosition
from taxoexpan.report.html.element import Element, to_html
from taxoexpan.report.html.tree import MAX_PATH, tree_element


def outline(tree: Tree) -> list[str]:
    """Return the lines of the tree, each indented by its depth."""
    lines: list[str] = []

    def walk(made: Element, depth: int) -> None:
        for item in made.children:
            assert isinstance(item, Element)
            words = [child for child in item.children if not is_list(child)]
            text = re.sub("<[^>]*>", "", "".join(map(to_html, words)))
            lines.append("  " * depth + text)
            for child in item.children:
                if is_list(child):
                    assert isinstance(child, Element)
                    walk(child, depth + 1)

    walk(tree_element(tree), 0)
    return lines


def is_list(child: Element | str) -> bool:
    return isinstance(child, Element) and child.tag == "ul"


def test_a_new_concept_is_under_its_parent_before_its_siblings() -> None:
    siblings = [Neighbor("chai", 0.8765), Neighbor("maté", 0.5), Neighbor("oolong")]
    position = TreePosition(["food", "tea"], siblings, 37, number="0.61")
    assert outline(Tree("bubble tea", position)) == [
        "food",
        "  tea",
        "    bubble tea new, 0.61",
        "    chai cosine 0.88",
        "    maté 0.50",
        "    oolong",
        "    and 37 more",
    ]


def test_the_common_start_of_two_paths_is_drawn_once() -> None:
    tree = Tree(
        "x", TreePosition(["food", "milk", "soy"]), TreePosition(["food", "tea"], number="0.20")
    )
    assert outline(tree) == [
        "food",
        "  milk",
        "    soy",
        "      x new",
        "  tea",
        "    x runner-up, 0.20",
    ]


def test_the_runner_up_may_be_above_or_below_the_parent() -> None:
    above = Tree("x", TreePosition(["food", "milk"]), TreePosition(["food"]))
    assert outline(above) == ["food", "  milk", "    x new", "  x runner-up"]
    below = Tree("x", TreePosition(["food"]), TreePosition(["food", "milk"]))
    assert outline(below) == ["food", "  x new", "  milk", "    x runner-up"]


def test_parents_of_the_same_label_and_other_roots_are_drawn_separately() -> None:
    same = Tree("x", TreePosition(["food", "milk"]), TreePosition(["food", "milk"]))
    assert outline(same) == ["food", "  milk", "    x new", "  milk", "    x runner-up"]
    roots = Tree("x", TreePosition(["food"]), TreePosition(["drink"]))
    assert outline(roots) == ["food", "  x new", "drink", "  x runner-up"]


def test_a_concept_without_a_parent_is_a_root() -> None:
    assert outline(Tree("x", TreePosition([], [Neighbor("food")]))) == ["x new", "food"]


def test_concepts_that_may_move_are_under_the_new_one() -> None:
    position = TreePosition(
        ["tea"], [Neighbor("chai")], children=[Neighbor("matcha", 0.7, "may move here")]
    )
    assert outline(Tree("green tea", position)) == [
        "tea",
        "  green tea new",
        "    matcha cosine 0.70 may move here",
        "  chai",
    ]


def test_the_middle_of_a_long_path_is_left_out() -> None:
    path = [f"c{depth}" for depth in range(3000)]
    lines = [line.strip() for line in outline(Tree("x", TreePosition(path)))]
    assert lines[:3] == ["c0", "c1", "c2"]
    assert lines[3] == "… 2,993 more levels …"
    assert lines[4:] == ["c2996", "c2997", "c2998", "c2999", "x new"]


@given(st.integers(0, 3 * MAX_PATH), st.integers(0, 3 * MAX_PATH), st.integers(0, 20))
def test_every_concept_of_both_paths_is_shown_or_counted(
    first: int, second: int, shared: int
) -> None:
    common = [f"c{n}" for n in range(shared)]
    tree = Tree(
        "x",
        TreePosition([*common, *(f"a{n}" for n in range(first))]),
        TreePosition([*common, *(f"b{n}" for n in range(second))]),
    )
    lines = [line.strip() for line in outline(tree)]
    counted = sum(int(line.split()[1]) for line in lines if line.startswith("…"))
    shown = sum(not line.startswith(("…", "x ")) for line in lines)
    twice = 1 if first == second == 0 and shared else 0  # two concepts of the same label
    assert shown + counted == shared + first + second + twice
    assert max(len(line) - len(line.lstrip()) for line in outline(tree)) <= 2 * 2 * MAX_PATH
