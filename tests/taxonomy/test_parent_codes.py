from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import final_ids, with_ids
from taxoexpan.taxonomy.parent_codes import BranchNumbers, HierarchicalCodes, PaddedCodes

PREFIX = "gid://shop/Category/"


def coded(*pairs: tuple[str, str]) -> Taxonomy:
    ids = dict.fromkeys(id for pair in pairs for id in pair)
    return Taxonomy([Concept(id, f"label of {id}") for id in ids], pairs)


SHOP = coded(
    *[(PREFIX + parent, PREFIX + child) for parent, child in (("hg", "hg-1"), ("hg", "hg-2"))],
    *[(f"{PREFIX}hg-2", f"{PREFIX}hg-2-{number}") for number in (1, 2, 3, 10)],
)


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
    assert codes.child_of("11", [*tree.children("11"), "119"], {*tree, "119"}) == ""


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


GOODS = coded(
    *[("10000000", f"10{n}0000") for n in ("10", "11", "12")],
    *[("10100000", code) for code in ("10101500", "10101600", "10101700")],
    ("10101500", "10101501"),
)


def test_codes_that_are_filled_with_zeros_are_recognized() -> None:
    assert PaddedCodes.of(GOODS) == PaddedCodes(8, 2)
    tree = coded(("1000", "1100"), *[("1100", f"11{n}0") for n in range(1, 6)])
    assert PaddedCodes.of(tree) == PaddedCodes(4, 1)


def test_a_new_code_fills_the_next_level_of_its_parent() -> None:
    (saws,) = with_ids(GOODS, [Concept("", "saws")])
    for parent, expected in [
        ("10000000", "10130000"),
        ("10100000", "10101800"),
        ("10101600", "10101601"),
        ("10101500", "10101502"),
    ]:
        assert final_ids(GOODS, [saws], [(parent, saws.id)]) == {saws.id: expected}


def test_a_full_code_has_no_code_below_it() -> None:
    (saws,) = with_ids(GOODS, [Concept("", "saws")])
    with pytest.raises(TaxonomyError, match="no id is free below '10101501' for 'saws'"):
        final_ids(GOODS, [saws], [("10101501", saws.id)])


def test_plain_numbers_are_no_padded_codes() -> None:
    assert PaddedCodes.of(coded(*[("100", str(n)) for n in range(101, 140)])) is None


EDAM = "http://edam.org/"


def branches(*sizes: int) -> Taxonomy:
    """A branch per size, with ids such as format_0007; the numbers are unique in the file."""
    concepts, relations, number = [], [], 0
    for branch, size in zip(("format", "data", "topic"), sizes, strict=False):
        root = f"{EDAM}{branch}_{number:04}"
        for _ in range(size):
            id = f"{EDAM}{branch}_{number:04}"
            concepts.append(Concept(id, f"thing {number}"))
            relations += [(root, id)] if id != root else []
            number += 1
    return Taxonomy(concepts, relations)


def test_a_new_id_has_the_stem_of_its_parent() -> None:
    taxonomy = branches(10, 12)
    concepts = with_ids(taxonomy, [Concept("", "kiwi"), Concept("", "fig")])
    pairs = [(f"{EDAM}data_0010", concepts[0].id), (f"{EDAM}format_0003", concepts[1].id)]
    ids = final_ids(taxonomy, concepts, pairs)
    assert [ids[c.id] for c in concepts] == [f"{EDAM}data_0022", f"{EDAM}format_0023"]


def test_a_single_stem_is_no_branch() -> None:
    assert BranchNumbers.of(branches(20)) is None


def test_a_few_ids_with_another_stem_do_not_make_branches() -> None:
    assert BranchNumbers.of(branches(40, 3)) is None


def test_stems_that_change_along_relations_are_no_branches() -> None:
    ids = [f"a{n}" if n % 2 else f"b{n}" for n in range(20)]
    chain = Taxonomy([Concept(id, id) for id in ids], pairwise(ids))
    assert BranchNumbers.of(chain) is None


def test_imported_classes_lend_no_stem_to_new_ones() -> None:
    obo = "http://purl.obolibrary.org/obo/"
    own = [f"{obo}FOOD_{n:07}" for n in range(1, 41)]
    imported = [f"{obo}{name}" for name in ("BFO_0000015", "BFO_0000040", "CHEBI_15377")]
    imported += [f"{obo}NCBITaxon_{n}" for n in (9606, 9605, 9604)]
    relations = [(own[0], id) for id in own[1:]] + [(imported[0], own[0])]
    taxonomy = Taxonomy([Concept(id, f"a {id}") for id in [*own, *imported]], relations)
    for parent in (imported[0], imported[2], imported[3], own[5]):
        (kiwi,) = with_ids(taxonomy, [Concept("", "kiwi")])
        ids = final_ids(taxonomy, [kiwi], [(parent, kiwi.id)])
        assert ids.get(kiwi.id, kiwi.id) == f"{obo}FOOD_0000041"


def test_below_an_imported_class_the_most_frequent_branch_is_continued() -> None:
    edam = branches(30, 40)
    other = Concept(f"{EDAM}topic_0003", "imported")
    taxonomy = Taxonomy([*edam.concepts, other], edam.relations)
    (kiwi,) = with_ids(taxonomy, [Concept("", "kiwi")])
    assert final_ids(taxonomy, [kiwi], [(other.id, kiwi.id)]) == {kiwi.id: f"{EDAM}data_0070"}


def test_branches_may_count_for_themselves() -> None:
    ids = [f"F{n}" for n in range(1, 20)] + [f"D{n}" for n in range(1, 11)]
    relations = [(id[0] + "1", id) for id in ids if id[1:] != "1"]
    taxonomy = Taxonomy([Concept(id, f"thing {id}") for id in ids], relations)
    concepts = with_ids(taxonomy, [Concept("", "kiwi"), Concept("", "fig"), Concept("", "saws")])
    pairs = list(zip(("D10", "F9", "D1"), (c.id for c in concepts), strict=True))
    ids = final_ids(taxonomy, concepts, pairs)
    assert [ids[concept.id] for concept in concepts] == ["D11", "F20", "D12"]


def numbered(stem: str, numbers: Iterable[int]) -> list[str]:
    return [f"{stem}{number}" for number in numbers]


def style_of(*groups: list[str], across: int = 0) -> BranchNumbers | None:
    """The style of branches, each below its first id, with some relations across branches."""
    relations = [(group[0], id) for group in groups for id in group[1:]]
    relations += [(groups[0][0], id) for id in groups[1][1 : across + 1]]
    return BranchNumbers.of(
        Taxonomy([Concept(id, f"a {id}") for g in groups for id in g], relations)
    )


@pytest.mark.parametrize(("others", "found"), [(10, True), (11, False)])
def test_four_fifths_of_the_ids_must_be_numbered(others: int, found: bool) -> None:
    own = numbered("F", range(20)), numbered("D", range(20))
    unnumbered = [[f"x{number}x"] for number in range(others)]
    assert (style_of(*own, *unnumbered) is not None) == found


@pytest.mark.parametrize(("across", "found"), [(10, True), (11, False)])
def test_four_fifths_of_the_relations_must_keep_the_stem(across: int, found: bool) -> None:
    own = numbered("F", range(21)), numbered("D", range(21))
    assert (style_of(*own, across=across) is not None) == found


@pytest.mark.parametrize(("most", "found"), [(90, True), (91, False)])
def test_a_stem_of_nine_tenths_of_the_ids_is_that_of_all(most: int, found: bool) -> None:
    own = numbered("F", range(most)), numbered("D", range(100 - most))
    assert (style_of(*own) is not None) == found


@pytest.mark.parametrize(("size", "stems"), [(6, ["F", "D"]), (7, ["F", "D", "T"])])
def test_a_stem_with_a_small_fraction_of_the_ids_is_imported(size: int, stems: list[str]) -> None:
    found = style_of(*(numbered(s, range(n)) for s, n in (("F", 60), ("D", 60), ("T", size))))
    assert found is not None
    assert list(found.following) == stems


@pytest.mark.parametrize(("first", "shared"), [(50, True), (49, False)])
def test_hardly_any_number_of_a_shared_numbering_is_used_twice(first: int, shared: bool) -> None:
    found = style_of(numbered("F", range(50)), numbered("D", range(first - 1, first + 49)))
    assert found is not None
    assert found.shared == shared


@pytest.mark.parametrize("stem", ["F:", "http://food.org/F", "urn:F"])
def test_prefixes_that_count_for_themselves_are_those_of_ontologies(stem: str) -> None:
    assert style_of(numbered(stem, range(9)), numbered("D", range(9))) is None
    assert style_of(numbered(stem, range(9)), numbered("D", range(9, 18))) is not None


def test_a_used_number_is_skipped() -> None:
    style = BranchNumbers({"F": 3, "D": 3}, {"F": 2, "D": 2}, shared=True)
    assert style.child_of("F01", [], {"F03", "F04"}) == "F05"
    assert style.child_of("D01", [], {"F03", "F04"}) == "D06"
