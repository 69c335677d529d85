from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.taxonomy import Additions, Concept, Move
from tests.support.expanded_files import under, write_file

SCHEMA_ORG = (
    '"id","label","comment","subTypeOf"\n'
    '"https://schema.org/Thing","Thing","",""\n'
    '"https://schema.org/Shop","Shop, store","","https://schema.org/Thing"\n'
    '"https://schema.org/Auto","Auto","","https://schema.org/Thing"\n'
    '"https://schema.org/AutoShop","AutoShop","","https://schema.org/Auto, https://schema.org/Shop"\n'
)
"""In the layout of schema.org's types: IRIs of parents separated by a comma and a space."""

FRUIT = "id,label,parent\n1,fruit,\n2,citrus,1\n3,snack,\n4,lime,{}\n"


@pytest.mark.parametrize("cell", ["2|3", '"2, 3"', '"2,3"', "2;3", "2; 3", "2 | 3"])
def test_several_parents_in_a_cell_are_recognized_and_written_alike(
    tmp_path: Path, cell: str
) -> None:
    text = FRUIT.format(cell)
    path, output = write_file(tmp_path / "x.csv", text), tmp_path / "y.csv"
    assert read_taxonomy(path).parents("4") == ("2", "3")
    TaxonomyFile.open(path).write(under("1", "2", concept=Concept("5", "kiwi")), output)
    assert output.read_text() == f"{text}5,kiwi,{cell.replace('2', '1').replace('3', '2')}\n"


def test_the_types_of_schema_org_are_read_with_their_parents(tmp_path: Path) -> None:
    path = write_file(tmp_path / "types.csv", SCHEMA_ORG)
    taxonomy = read_taxonomy(path)
    assert len(taxonomy.parents("https://schema.org/AutoShop")) == 2
    # Labels are not split.
    assert taxonomy.concept("https://schema.org/Shop").label == "Shop, store"


def test_a_moved_parent_is_replaced_between_the_separators_of_the_cell(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "x.csv", FRUIT.format('"2, 3"')), tmp_path / "y.csv"
    move = Additions([Concept("5", "snacks")], [("3", "5")], moves=[Move("4", "3", "5")])
    TaxonomyFile.open(path).write(move, output)
    assert output.read_text() == FRUIT.format('"2, 5"') + "5,snacks,3\n"


def test_labels_that_contain_the_separator_are_not_split(tmp_path: Path) -> None:
    text = "label,parent\nfruit,\nnuts,\n" + '"fruit, nuts",\nmuesli,"fruit, nuts"\n'
    assert read_taxonomy(write_file(tmp_path / "x.csv", text)).parents("muesli") == ("fruit, nuts",)


@pytest.mark.parametrize(
    ("text", "line"),
    [(FRUIT.format('"2, 9"'), 5), (FRUIT.format("2;3") + "5,kiwi,1|2\n", 5)],
    ids=["unknown part", "two signs"],
)
def test_unclear_parents_are_refused_with_the_option_that_names_the_separator(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(FormatError, match=r"several parents.*option separator") as caught:
        read_taxonomy(write_file(tmp_path / "x.csv", text))
    assert caught.value.line == line


def test_a_chosen_separator_splits_parents_and_synonyms(tmp_path: Path) -> None:
    text = "id,label,parent,synonyms\n1,fruit,,\n2,snack,,\n3,lime,1 and 2,limes and lima\n"
    path, output = write_file(tmp_path / "x.csv", text), tmp_path / "y.csv"
    taxonomy = read_taxonomy(path, separator=" and ")
    assert (taxonomy.parents("3"), taxonomy.concept("3").synonyms) == (
        ("1", "2"),
        ("limes", "lima"),
    )
    new = Concept("4", "kiwi", ("kiwis", "kiwifruit"))
    file = TaxonomyFile.open(path, options=ReadOptions(separator=" and "))
    file.write(under("1", "2", concept=new), output)
    assert output.read_text() == text + "4,kiwi,1 and 2,kiwis and kiwifruit\n"
    assert file.read_flags == ["--separator", " and "]


def test_a_separator_is_refused_where_it_has_no_meaning(tmp_path: Path) -> None:
    table = write_file(tmp_path / "x.csv", "child,parent\nb,a\n")
    with pytest.raises(FormatError, match=r"\(edges\).*option separator"):
        read_taxonomy(table, separator=",")


@pytest.mark.parametrize("thing", ["http://www.w3.org/2002/07/owl#Thing", "owl:Thing"])
@pytest.mark.parametrize("header", ["id,parent", "child,parent"])
def test_owl_thing_is_a_blank_parent(tmp_path: Path, thing: str, header: str) -> None:
    path = write_file(tmp_path / "x.csv", f"{header}\nfruit,{thing}\napple,fruit\n")
    taxonomy = read_taxonomy(path)
    assert (taxonomy.roots, len(taxonomy)) == (("fruit",), 2)


def test_descriptions_of_codes_are_labels(tmp_path: Path) -> None:
    text = "section,hscode,description,parent,level\nI,01,Animals; live,,2\nI,0101,Horses,01,4\n"
    path, output = write_file(tmp_path / "hs.csv", text), tmp_path / "y.csv"
    taxonomy = read_taxonomy(path)
    assert taxonomy.labels == ("Animals; live", "Horses")
    assert list(taxonomy.relations) == [("01", "0101")]
    TaxonomyFile.open(path).write(under("01", concept=Concept("0102", "Cattle")), output)
    assert output.read_text() == text + ",0102,Cattle,01,\n"


def test_an_id_is_only_asked_for_where_a_column_could_have_it(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "label,parent,definition\nfruit,,\nfruit,,\n")
    with pytest.raises(FormatError, match="already used on line 2") as caught:
        read_taxonomy(path)
    assert "columns" not in caught.value.message
