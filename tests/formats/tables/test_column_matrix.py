"""Every column that can be chosen, in every layout: it is read, named in a note, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.tables.columns import COLUMN_NAMES, checked_columns
from taxoexpan.formats.tables.table import csv_text, table_text
from taxoexpan.formats.tables.workbook import new_workbook
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import under, write_file

CODES = ["01", "0101", "010121", "010129", "0102", "010221", "02", "0201", "020110", "0202"]
LAYOUTS: Mapping[str, Mapping[str, list[str]]] = {
    "parents by id": {
        "id": ["1", "2", "3"],
        "label": ["food", "fruit", "apple"],
        "parent": ["", "1", "2"],
    },
    "parents by label": {"label": ["food", "fruit", "apple"], "parent": ["", "food", "fruit"]},
    "labels of parents": {
        "id": ["1", "2", "3"],
        "label": ["food", "fruit", "apple"],
        "parent_label": ["", "food", "fruit"],
    },
    "relations": {"child": ["food", "fruit", "apple"], "parent": ["", "food", "fruit"]},
    "paths": {"path": ["food", "food > fruit", "food > fruit > apple"]},
    "levels": {
        "level1": ["food", "food", "food"],
        "level2": ["", "fruit", "fruit"],
        "level3": ["", "", "apple"],
    },
    "outline": {
        "level1": ["food", "", ""],
        "level2": ["", "fruit", ""],
        "level3": ["", "", "apple"],
    },
    "codes": {"codes": CODES, "label": [f"label of {code}" for code in CODES]},
}
ROLES = {
    "id": ["9", "8", "7"],
    "label": ["another", "other", "end"],
    "parent_label": ["a", "b", "c"],
    "path": ["x", "x > y", "x > y > z"],
    "codes": ["01", "0101", "010101"],
    "definition": ["all food", "sweet", "round"],
    "synonyms": ["nutrition", "fruits|pome", ""],
    "deprecated": ["", "", "true"],
    "child": ["q", "r", "s"],
}
WITH_TEXTS = (
    "parents by id",
    "parents by label",
    "labels of parents",
    "paths",
    "levels",
    "outline",
)


def written(path: Path, columns: Mapping[str, list[str]]) -> TaxonomyFile:
    """Write a table with headers that mean nothing, and open it with the chosen columns."""
    names = {name: f"column {number}" for number, name in enumerate(columns)}
    text = table_text(path, list(names.values()), zip(*columns.values(), strict=True))
    if path.suffix == ".xlsx":
        path.write_bytes(new_workbook(path, text))
    else:
        write_file(path, text)
    return TaxonomyFile.open(path, options=ReadOptions(columns=checked_columns(names)))


def test_the_matrix_has_every_column() -> None:
    tested = {*ROLES, *(name for columns in LAYOUTS.values() for name in columns)}
    assert {*COLUMN_NAMES} - {"parents"} <= tested


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_is_read_or_named_or_refused(tmp_path: Path, layout: str, suffix: str) -> None:
    plain = LAYOUTS[layout]
    basis = written(tmp_path / f"x{suffix}", plain).taxonomy
    ignored = []
    for role, values in ROLES.items():
        if role in plain:
            continue
        more = [f"{values[-1]}{number}" for number in range(len(next(iter(plain.values()))) - 3)]
        try:
            file = written(tmp_path / f"{role}{suffix}", {**plain, role: [*values, *more]})
        except (ConfigurationError, FormatError):
            continue
        is_named = any(f"column {len(plain)}" in note.message for note in file.notes)
        is_named |= any("differs from" in note.message for note in file.notes)
        is_named |= any("its name is given as" in note.message for note in file.notes)
        is_read = set(file.taxonomy.concepts) != set(basis.concepts)
        is_read |= list(file.taxonomy.relations) != list(basis.relations)
        if not (is_read or is_named):
            ignored.append(role)
    assert not ignored


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
@pytest.mark.parametrize("layout", WITH_TEXTS)
def test_texts_are_read_and_written_in_every_layout_with_rows_of_concepts(
    tmp_path: Path, layout: str, suffix: str
) -> None:
    texts = {name: ROLES[name] for name in ("definition", "synonyms", "deprecated")}
    file = written(tmp_path / f"x{suffix}", {**LAYOUTS[layout], **texts})
    food, fruit, apple = file.taxonomy.concepts
    assert (food.definition, fruit.definition, apple.definition) == tuple(texts["definition"])
    assert (food.synonyms, fruit.synonyms) == (("nutrition",), ("fruits", "pome"))
    assert (fruit.deprecated, apple.deprecated) == (False, True)
    output = tmp_path / f"new{suffix}"
    kiwi = Concept("kiwi", "kiwi", ("actinidia", "kiwifruit"), "green inside")
    result = file.write(under(fruit.id, concept=kiwi), output)
    assert "definitions" not in result.lost
    assert "synonyms" not in result.lost
    taxonomy = TaxonomyFile.open(output, options=file.file.options).taxonomy
    (new,) = (concept for concept in taxonomy.concepts if concept.label == "kiwi")
    assert (new.synonyms, new.definition) == (kiwi.synonyms, kiwi.definition)


def test_the_definition_of_a_row_belongs_to_its_deepest_level(tmp_path: Path) -> None:
    text = "Level 1,Level 2,Definition,Synonyms,ID\nfood,apple,round,malus,2\nfood,pear,,,3\n"
    taxonomy = TaxonomyFile.open(write_file(tmp_path / "x.csv", text)).taxonomy
    assert taxonomy.concept("food") == Concept("food", "food")
    assert taxonomy.concept("2") == Concept("2", "apple", ("malus",), "round")
    assert taxonomy.concept("3") == Concept("3", "pear")


def test_a_path_beside_levels_fills_both_in_a_new_row(tmp_path: Path) -> None:
    text = "path,level 1,level 2\nfood,food,\nfood > apple,food,apple\n"
    path, output = write_file(tmp_path / "x.csv", text), tmp_path / "new.csv"
    TaxonomyFile.open(path).write(under("food"), output)
    assert output.read_text() == f"{text}food > kiwi,food,kiwi\n"


def test_lines_in_a_cell_are_synonyms(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "label": "food", "parent": "", "altLabels": "nutrition\nnourishment"},
        {"id": "2", "label": "apple", "parent": "1", "altLabels": "malus"},
    ]
    path = write_file(tmp_path / "x.csv", csv_text([*rows[0]], rows))
    file, output = TaxonomyFile.open(path), tmp_path / "new.csv"
    assert file.taxonomy.concept("1").synonyms == ("nutrition", "nourishment")
    file.write(under("1", concept=Concept("3", "kiwi", ("a", "b"))), output)
    assert output.read_text() == path.read_text() + '3,kiwi,1,"a\nb"\n'


def test_another_sign_between_synonyms_is_noted(tmp_path: Path) -> None:
    text = "id,label,parent,synonyms\n1,food,,a; b\n2,apple,1,c; d\n3,fig,1,e\n"
    path = write_file(tmp_path / "x.csv", text)
    (note,) = TaxonomyFile.open(path).notes
    assert note.line == 2
    assert "2 cells have ';'" in note.message
    file = TaxonomyFile.open(path, options=ReadOptions(separator=";"))
    assert file.taxonomy.concept("1").synonyms == ("a", "b")
    assert not file.notes


def test_broader_and_narrower_concepts_beside_a_label_are_not_a_list_of_relations(
    tmp_path: Path,
) -> None:
    text = "id,prefLabel,broader,narrower\n1,food,,2\n2,apple,1,\n"
    file = TaxonomyFile.open(write_file(tmp_path / "x.csv", text))
    assert file.taxonomy.labels == ("food", "apple")
    assert list(file.taxonomy.relations) == [("1", "2")]


@pytest.mark.parametrize(
    ("chosen", "unused"),
    [
        ("codes=1,id=2", "id"),
        ("codes=1,parent=2", "parents"),
        ("path=1,parent=2", "parents"),
        ("path=1,child=2", "child"),
    ],
)
def test_two_columns_that_state_the_relations_are_refused(chosen: str, unused: str) -> None:
    with pytest.raises(ConfigurationError, match=f"so {unused} would not be read"):
        checked_columns(chosen)


def test_names_beside_the_ids_of_relations_are_noted(tmp_path: Path) -> None:
    text = "parent_id,parent_name,child_id,child_name\n1,food,2,fruit\n2,fruit,3,apple\n"
    path = write_file(tmp_path / "x.csv", text)
    messages = [note.message for note in TaxonomyFile.open(path).notes]
    assert any("'child_name' is not read" in message for message in messages)
    chosen = ReadOptions(columns=checked_columns("child=child_name,parent=parent_name"))
    assert TaxonomyFile.open(path, options=chosen).taxonomy.labels == ("fruit", "food", "apple")
