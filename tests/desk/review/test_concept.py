"""The tree around a parent, and the branches that are opened in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.taxonomy import Concept
from tests.support.builders import KINDS, SORTS
from tests.support.desk_cases import DecisionStore
from tests.support.review_cases import Review, open_review

NEW = (Concept("", "Green-Apple drink"), Concept("", "hemp milk"))
PART = {"HX-Request": "true"}


@pytest.fixture(scope="module")
def review(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    with DecisionStore.open(str(tmp_path_factory.mktemp("tree") / "reviews.db")) as store:
        yield open_review(model, store, NEW)


def tree(review: Review, concept: str, parent: str) -> list[tuple[str, str]]:
    """The nodes of the tree around a parent: their classes, and their labels or numbers."""
    page = review.get(f"/around?concept={concept}&parent={parent}", **PART)
    nodes = re.findall(r'<li class="([^"]+)">(.*?)(?=<li|</ul>)', page, re.DOTALL)
    texts = [(name, re.search(r"<bdi>(.*?)</bdi>|>([\d,]+) more<", text)) for name, text in nodes]
    return [(name, found[1] or found[2]) for name, found in texts if found]


def labels(nodes: list[tuple[str, str]], name: str) -> list[str]:
    return [label for own, label in nodes if own == name]


def test_the_tree_has_ancestors_siblings_and_the_nearest_children(review: Review) -> None:
    nodes = tree(review, "green apple drink", "apple")
    assert nodes[:3] == [("node", "food"), ("node parent", "apple"), ("new", "Green-Apple drink")]
    children = labels(nodes, "node")[1:]
    assert children[0] == "green apple"  # it shares two words
    assert len(children) == 6
    assert len(labels(nodes, "node aside")) == 3
    hidden = [len(SORTS) - len(children), len(KINDS) - 4]
    assert labels(nodes, "node more") == [str(number) for number in hidden]


def test_children_that_may_move_are_listed_apart(review: Review) -> None:
    review.propose("hemp milk", "milk", kind="insert", moves=("oat milk", "unknown"))
    nodes = tree(review, "hemp milk", "milk")
    assert labels(nodes, "moves") == ["oat milk"]
    assert "oat milk" not in labels(nodes, "node")


def test_a_root_is_below_nothing_and_next_to_other_roots(
    review: Review,
) -> None:
    nodes = tree(review, "hemp milk", "food")
    assert nodes[0] == ("node parent", "food")
    assert labels(nodes, "node aside") == []
    assert len(labels(nodes, "node")) == 6


def branch(review: Review, address: str) -> tuple[list[str], str]:
    """The labels of an opened branch, and the address of the rest."""
    page = review.get(f"/branch?{address}", **PART)
    rest = re.search(r'href="/branch\?([^"]*)"[^>]*>[\d,]+ more<', page)
    return re.findall("<bdi>(.*?)</bdi>", page), rest[1].replace("&amp;", "&") if rest else ""


def test_the_rest_of_the_children_is_what_the_tree_leaves_out(review: Review) -> None:
    page = review.get("/around?concept=green+apple+drink&parent=apple", **PART)
    shown = labels(tree(review, "green apple drink", "apple"), "node")[1:]
    (address,) = re.findall(r'href="/branch\?([^"]*parent=apple&amp;without=[^"]*)"', page)
    rest, more = branch(review, address.replace("&amp;", "&"))
    assert sorted([*shown, *rest]) == sorted(f"{sort} apple" for sort in SORTS)
    assert more == ""


def test_a_branch_lists_all_children(review: Review) -> None:
    found, more = branch(review, "parent=food")
    assert sorted(found) == sorted(KINDS)
    assert more == ""


def test_a_long_branch_is_read_in_parts(
    model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = [str(number) for number in range(450)]
    many = Taxonomy([Concept(name, name) for name in names])
    with DecisionStore.open(str(tmp_path_factory.mktemp("roots") / "reviews.db")) as store:
        review = open_review(model, store, NEW, known=many)
        found: list[str] = []
        parts = 0
        address = "parent="
        while address:
            part, address = branch(review, address)
            found += part
            parts += 1
            assert len(part) <= 200
    assert found == names
    assert parts == 3
