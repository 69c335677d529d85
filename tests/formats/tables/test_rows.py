from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from expanded_files import (
    QUOTING,
    added_text,
    csv_lines,
    expand_file,
    expansion_refusal,
    refusal,
    under,
    write_expanded,
    write_file,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import Growth, Style, growths, names, quickly, styles

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

HEADER = ("id", "label", "parents", "definition", "synonyms")
FULL = ",".join(HEADER) + "\n"
RICH = Concept("k1", "kiwi", ("actinidia", "kiwifruit"), "green,\nand hairy")


def fruit(folder: Path, text: str = "id,label,parents\nf,fruit,\na,apple,f\n") -> Path:
    return write_file(folder / "food.csv", text)


def test_every_column_is_read(tmp_path: Path) -> None:
    path = fruit(tmp_path, FULL + "f,fruit,,sweet,\nr,red,,,\na,apple,f|r,,pomme | malus\n")
    expected = Taxonomy(
        [
            Concept("f", "fruit", (), "sweet"),
            Concept("r", "red"),
            Concept("a", "apple", ("pomme", "malus")),
        ],
        [("f", "a"), ("r", "a")],
    )
    assert TaxonomyFile.open(path).taxonomy == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("food.csv", "concept_id,name,parent_id\nf,fruit,\na,apple,f\n"),
        ("food.csv", "parent;title;code\n;fruit;f\nf;apple;a\n"),
        ("food.csv", "\ufeffURI,prefLabel,Broader\r\nf,fruit,\r\na,apple,f\r\n"),
        ("food.tsv", "id\tterm\tparents\na\tapple\tf\nf\tfruit\t\n"),
        ("food.csv", '"id","label","parent ids"\n"f","fruit",""\n"a","apple","f"\n'),
    ],
)
def test_columns_have_several_names(tmp_path: Path, name: str, text: str) -> None:
    expected = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
    assert TaxonomyFile.open(write_file(tmp_path / name, text)).taxonomy == expected


def test_without_ids_a_label_is_the_id(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "label,parents\nfruit,\napple,fruit\n")).taxonomy
    assert taxonomy.children("fruit") == ("apple",)


def test_without_labels_an_id_is_the_label(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "id,parents\nf,\na,f\n")).taxonomy
    assert taxonomy.labels == ("f", "a")


def test_a_blank_id_or_label_is_filled_from_the_other(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "id,label,parents\n,fruit,\na,,fruit\n")).taxonomy
    assert set(taxonomy.concepts) == {Concept("fruit", "fruit"), Concept("a", "a")}


def test_labels_may_be_repeated(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "id,label,parents\n1,food,\n2,food,1\n")).taxonomy
    assert taxonomy.labels == ("food", "food")


def test_an_id_may_contain_the_separator(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "id,label,parents\na|b,x,\nc,y,a|b\n")).taxonomy
    assert taxonomy.parents("c") == ("a|b",)


def test_one_concept_without_a_relation_is_read(tmp_path: Path) -> None:
    assert len(TaxonomyFile.open(fruit(tmp_path, "id,label,parents\nf,fruit,\n")).taxonomy) == 1


def test_a_parent_given_twice_is_noted(tmp_path: Path) -> None:
    (note,) = TaxonomyFile.open(fruit(tmp_path, "id,label,parents\nf,fruit,\na,apple,f|f\n")).notes
    assert (note.line, note.message) == (3, "'a' under 'f' occurs more than once")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("f,fruit\n", ", line 2: the row has 2 cells, but the header has 3; add the others"),
        (
            "f,fruit,a,b\n",
            ", line 2: the row has 4 cells, but the header has 3; quote cells that contain a comma",
        ),
        (
            "f,fruit,\n, ,f\n",
            ", line 3: the row has neither an id nor a label; add one, or remove the row",
        ),
        (
            "f,fruit,\na,apple,\nf,fig,\n",
            ", line 4: the id 'f' is already used on line 2; "
            "ids must be unique, so change or remove one",
        ),
        (
            "f,fruit,\na,apple,ghost\n",
            ", line 3: no concept has the id 'ghost'; add the concept, or correct the id",
        ),
        (
            "f,fruit,\na,apple,f\nb,berry,fruit\n",
            ", line 4: no concept has the id 'fruit'; "
            "it is the label of 'f'; relations need ids, so write that id",
        ),
        ("", ": the file has no concept; it needs at least one"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, body: str, message: str) -> None:
    path = fruit(tmp_path, "id,label,parents\n" + body)
    assert refusal(path) == f"{path}{message}"


def test_a_cycle_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = fruit(tmp_path, "id,label,parents\na,A,b\nx,X,\nb,B,a\n")
    message = refusal(path)
    assert message.startswith(f"{path}, line 2: a cycle: ")
    assert message.endswith("(lines 2, 4)")


def test_a_header_without_parents_is_refused_if_the_format_is_given(tmp_path: Path) -> None:
    path = fruit(tmp_path, "id,label\nf,fruit\n")
    message = refusal(path, "rows")
    assert message.startswith(
        f"{path}, line 1: the table needs a column id or label, and a column parent. "
        "The columns are:\n   1  id     id\n   2  label  label\n"
    )
    assert "label=1,parent=2" in message


@given(
    growths(ids=names(without="|", breaks=True), labels=names(breaks=True), details=True),
    styles(),
    st.sampled_from(QUOTING),
)
@quickly
def test_an_expanded_table_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, style: Style, quoting: Literal[0, 1]
) -> None:
    old = growth.old
    rows = [
        (c.id, c.label, "|".join(old.parents(c.id)), c.definition, "|".join(c.synonyms))
        for c in old.concepts
    ]
    path = tmp_path_factory.mktemp("rows") / "food.csv"
    path.write_bytes(style.encode(csv_lines([HEADER, *rows], quoting=quoting)))
    assert TaxonomyFile.open(path).taxonomy == old
    assert TaxonomyFile.open(expand_file(path, growth.additions)).taxonomy == old.expanded(
        growth.additions
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FULL + "f,fruit,,,\n", 'k1,kiwi,f,"green,\nand hairy",actinidia|kiwifruit\n'),
        ("parents\tid\tlabel\n\tf\tfruit", "\nf\tk1\tkiwi\n"),
        ('"id","label","parents"\r\n"f","fruit",""\r\n', '"k1","kiwi","f"\r\n'),
        ("id,label,parents,colour\nf,fruit,,red\n", "k1,kiwi,f,\n"),
    ],
)
def test_a_row_is_added_in_the_style_of_the_table(tmp_path: Path, text: str, expected: str) -> None:
    assert added_text(fruit(tmp_path, text), under("f", concept=RICH)) == expected


def test_several_parents_are_written_in_one_cell(tmp_path: Path) -> None:
    assert added_text(fruit(tmp_path), under("f", "a")) == "kiwi,kiwi,f|a\n"


@pytest.mark.parametrize(
    ("header", "row", "lost"),
    [
        ("id,label,parents,definition,synonyms", "f,fruit,,,", []),
        ("id,label,parents,synonyms", "f,fruit,,", ["definitions"]),
        ("id,parents", "f,", ["labels", "synonyms", "definitions"]),
        ("label,parents,definition", "f,,", ["ids", "synonyms"]),
    ],
)
def test_data_without_a_column_is_returned_as_lost(
    tmp_path: Path, header: str, row: str, lost: list[str]
) -> None:
    path = fruit(tmp_path, f"{header}\n{row}\n")
    assert write_expanded(path, under("f", concept=RICH), tmp_path / "new.csv").lost == lost


def test_without_an_id_column_new_parents_are_written_as_labels(tmp_path: Path) -> None:
    additions = Additions([Concept("1", "berry"), Concept("2", "kiwi")], [("f", "1"), ("1", "2")])
    path = fruit(tmp_path, "label,parents\nf,\n")
    assert added_text(path, additions) == "berry,f\nkiwi,berry\n"


@pytest.mark.parametrize("ids", [("1",), ("1", "2")])
def test_without_an_id_column_a_used_label_is_refused(tmp_path: Path, ids: tuple[str, ...]) -> None:
    name = "f" if len(ids) == 1 else "kiwi"
    path = fruit(tmp_path, "label,parents\nf,\n")
    message = expansion_refusal(path, Additions([Concept(id, name) for id in ids], []))
    assert message.startswith(
        f"{path}: the label {name!r} is already used, and labels are ids in this file"
    )


@pytest.mark.parametrize("parents", [("a|b", "c"), ("a", "b")])
def test_ambiguous_parents_are_refused(tmp_path: Path, parents: tuple[str, ...]) -> None:
    path = fruit(tmp_path, "id,label,parents\na,a,\nb,b,\nc,c,\na|b,x,\n")
    assert expansion_refusal(path, under(*parents)).startswith(
        f"{path}: the id 'a|b' contains '|', which separates parents"
    )


def test_isolated_concepts_below_a_blank_row_are_noted(tmp_path: Path) -> None:
    path = fruit(tmp_path, "id,label,parents\nf,fruit,\na,apple,f\n,,\nx,Total,\n")
    notes = [(note.line, note.message) for note in TaxonomyFile.open(path).notes]
    message = "'x' is below a blank row, and has neither a parent nor children"
    assert notes == [(5, f"{message}; remove the row if it is not a concept")]


def test_lone_carriage_returns_in_cells_are_no_lines(tmp_path: Path) -> None:
    path = fruit(tmp_path, 'id,label,parents\nf,"fruit\r\r\r\r\r",\na,apple,\n')
    assert len(TaxonomyFile.open(path).taxonomy) == 2


def test_an_id_with_the_separator_of_values_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id,label,parent\n1,fruit,\n2,apple,1\n")
    message = expansion_refusal(path, under("1", concept=Concept("a|3", "kiwi")))
    assert "'a|3' contains '|'" in message
