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
