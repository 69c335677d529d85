from __future__ import annotations

import pytest

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.hierarchical_ids import HierarchicalCodes

PREFIX = "gid://shop/Category/"


def coded(*pairs: tuple[str, str]) -> Taxonomy:
    ids = dict.fromkeys(id for pair in pairs for id in pair)
    return Taxonomy([Concept(id, f"label of {id}") for id in ids], pairs)


SHOP = coded(
    *[(PREFIX + parent, PREFIX + child) for parent, child in (("hg", "hg-1"), ("hg", "hg-2"))],
    *[(f"{PREFIX}hg-2", f"{PREFIX}hg-2-{number}") for number in (1, 2, 3, 10)],
)


def test_the_codes_of_a_shop_are_recognized() -> None:
    assert HierarchicalCodes.of(SHOP) == HierarchicalCodes("-", 1)


def test_a_child_gets_the_number_after_its_siblings() -> None:
    codes, parent = HierarchicalCodes("-", 1), f"{PREFIX}hg-2"
    assert codes.child_of(parent, SHOP.children(parent), set(SHOP)) == f"{parent}-11"
    assert codes.child_of(f"{PREFIX}hg-1", (), set(SHOP)) == f"{PREFIX}hg-1-1"


def test_padded_codes_keep_their_width() -> None:
    tree = coded(*[("01", f"01.{n:02}") for n in range(1, 10)])
    codes = HierarchicalCodes.of(tree)
    assert codes == HierarchicalCodes(".", 2)
    assert codes.child_of("01", tree.children("01"), set(tree)) == "01.10"


def test_codes_without_a_separator_have_a_fixed_width() -> None:
    tree = coded(*[("11", f"11{n}") for n in range(1, 9)])
    codes = HierarchicalCodes.of(tree)
    assert codes == HierarchicalCodes("", 1)
    assert codes.child_of("11", tree.children("11"), set(tree)) == "119"
    with pytest.raises(TaxonomyError, match="all codes of 1 more digits below '11' are used"):
        codes.child_of("11", [*tree.children("11"), "119"], {*tree, "119"})


def test_plain_numbers_are_no_hierarchical_codes() -> None:
    tree = coded(*[("1", str(number)) for number in range(2, 40)])
    assert HierarchicalCodes.of(tree) is None


def test_a_used_code_is_skipped() -> None:
    codes = HierarchicalCodes("-", 1)
    assert codes.child_of("a", ["a-1"], {"a", "a-1", "a-2"}) == "a-3"


def test_the_separator_may_depend_on_the_level() -> None:
    groups = [("A", f"A{n}") for n in range(1, 5)]
    tree = coded(*groups, *[(f"A{g}", f"A{g}.{n}") for g in range(1, 4) for n in (1, 2)])
    codes = HierarchicalCodes.of(tree)
    assert codes is not None
    assert codes.child_of("A", tree.children("A"), set(tree)) == "A5"
    assert codes.child_of("A2", tree.children("A2"), set(tree)) == "A2.3"
    assert codes.child_of("A2.2", (), set(tree)) == "A2.2.1"
    assert codes.child_of("A", [f"A{n}" for n in range(1, 10)], set(tree)) == "A10"


def test_an_end_like_a_code_is_none_below_another_beginning() -> None:
    assert HierarchicalCodes.of(coded(*[("aa", f"bb-{n}") for n in range(1, 9)])) is None


def test_four_relations_may_be_a_coincidence() -> None:
    flat = [("A", f"A-{n}") for n in range(1, 6)]
    assert HierarchicalCodes.of(coded(*flat)) == HierarchicalCodes("-", 1)
    assert HierarchicalCodes.of(coded(*flat[1:])) is None
    deep = [("A", "A1"), ("A", "A2"), ("A", "A3"), ("A1", "A1.1"), ("A1", "A1.2")]
    by_level = {0: ("", 1), 1: (".", 1)}
    assert HierarchicalCodes.of(coded(*deep)) == HierarchicalCodes("", 1, by_level)
    assert HierarchicalCodes.of(coded(*deep[1:])) is None


def test_numbers_without_zeros_before_them_have_no_width() -> None:
    tree = coded(*[("A", f"A-{n}") for n in range(30)])
    assert HierarchicalCodes.of(tree) == HierarchicalCodes("-", 1)
