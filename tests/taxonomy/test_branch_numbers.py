from __future__ import annotations

from itertools import pairwise

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
