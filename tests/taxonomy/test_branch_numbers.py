from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.branch_numbers import BranchNumbers
from taxoexpan.taxonomy.id_assignment import resolve_ids, with_ids

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
    resolved, _ = resolve_ids(taxonomy, Additions(concepts, pairs))
    assert [c.id for c in resolved.concepts] == [f"{EDAM}data_0022", f"{EDAM}format_0023"]


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
        resolved, _ = resolve_ids(taxonomy, Additions([kiwi], [(parent, kiwi.id)]))
        assert resolved.concepts[0].id == f"{obo}FOOD_0000041"


def test_below_an_imported_class_the_most_frequent_branch_is_continued() -> None:
    edam = branches(30, 40)
    other = Concept(f"{EDAM}topic_0003", "imported")
    taxonomy = Taxonomy([*edam.concepts, other], edam.relations)
    (kiwi,) = with_ids(taxonomy, [Concept("", "kiwi")])
    _, new = resolve_ids(taxonomy, Additions([kiwi], [(other.id, kiwi.id)]))
    assert new == {kiwi.id: f"{EDAM}data_0070"}


def test_branches_may_count_for_themselves() -> None:
    ids = [f"F{n}" for n in range(1, 20)] + [f"D{n}" for n in range(1, 11)]
    relations = [(id[0] + "1", id) for id in ids if id[1:] != "1"]
    taxonomy = Taxonomy([Concept(id, f"thing {id}") for id in ids], relations)
    concepts = with_ids(taxonomy, [Concept("", "kiwi"), Concept("", "fig"), Concept("", "saws")])
    pairs = list(zip(("D10", "F9", "D1"), (c.id for c in concepts), strict=True))
    resolved, _ = resolve_ids(taxonomy, Additions(concepts, pairs))
    assert [concept.id for concept in resolved.concepts] == ["D11", "F20", "D12"]


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
