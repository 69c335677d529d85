from __future__ import annotations

import os
from pathlib import Path

import pytest

from reproduction.measurements.placements import new_concepts
from reproduction.task13.data import DOMAINS, read_task13
from taxoexpan.errors import FormatError
from tests.support.builders import KINDS, SORTS

SIZES = {"task13-environment": (209, 52), "task13-science": (344, 85), "task13-food": (1189, 297)}
"""The terms to learn from and to place in the repository of QuanTaxo."""


def test_terms_to_place_leave_no_trace_in_what_is_learned_from(folder: Path) -> None:
    [data] = read_task13(folder)
    texts = {text for c in data.taxonomy.concepts for text in (c.id, c.label, c.definition)}
    assert data.name == "task13-food"
    assert {f"{SORTS[1]} {kind}" for kind in KINDS} < texts
    assert {f"{SORTS[1]} {kind}: a kind of {kind}" for kind in KINDS} < texts
    assert not {f"{SORTS[0]} {kind}" for kind in KINDS} & texts
    assert not {f"{SORTS[0]} {kind}: a kind of {kind}" for kind in KINDS} & texts
    assert "granite" not in data.newer


def test_terms_are_queries_with_their_definition_and_one_true_parent(folder: Path) -> None:
    [data] = read_task13(folder)
    queries = new_concepts(data)
    parents = {
        concept.label: [queries.taxonomy.labels[i] for i in own]
        for concept, own in zip(queries.concepts, queries.parents, strict=True)
    }
    assert queries.taxonomy is data.taxonomy
    assert parents == {f"{SORTS[0]} {kind}": [kind] for kind in KINDS}
    assert queries.concepts[0].definition == f"{SORTS[0]} {KINDS[0]}: a kind of {KINDS[0]}"


def test_a_relation_that_is_repeated_counts_once(folder: Path) -> None:
    [data] = read_task13(folder)
    assert len(data.taxonomy.relations) == len(data.taxonomy) - 1


@pytest.mark.parametrize(
    ("name", "content", "key_word"),
    [
        ("food_eval.terms", f"{KINDS[0]}\n", "to learn from"),
        ("food_eval.gt", "granite\n", "'granite' is not in the taxonomy"),
        ("food_eval.gt", f"{KINDS[0]}\n{KINDS[0]}\n", "2 parents of 1 terms"),
        ("food_train.taxo", "food bread\n", "a tab"),
        ("food_train.taxo", "food\t\n", "a tab"),
        ("dic.json", "{", "JSON"),
        ("dic.json", '{"tea": 3}', "JSON"),
        ("dic.json", "[]", "JSON"),
    ],
)
def test_damaged_files_are_refused(folder: Path, name: str, content: str, key_word: str) -> None:
    own = folder / "food"
    (own / "food_eval.terms").write_text(f"{SORTS[0]} {KINDS[0]}\n", encoding="utf-8")
    (own / "food_eval.gt").write_text(f"{KINDS[0]}\n", encoding="utf-8")
    (own / name).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=key_word) as caught:
        read_task13(folder)
    assert name in caught.value.place


def test_missing_files_are_refused_with_where_to_get_them(folder: Path) -> None:
    (folder / "food" / "dic.json").unlink()
    for wrong in (folder, folder / "food"):
        with pytest.raises(FormatError) as caught:
            read_task13(wrong)
        assert "QuanTaxo" in caught.value.fix


def test_the_published_data_has_the_published_sizes() -> None:
    place = os.environ.get("TAXOEXPAN_TASK13", "")
    if not place:
        pytest.skip("the data is not available; set TAXOEXPAN_TASK13 to its folder")
    read = read_task13(Path(place))
    assert {data.name: (len(data.taxonomy), len(new_concepts(data).concepts)) for data in read} == (
        SIZES
    )
    assert len(read) == len(DOMAINS)
