"""Tables with one row per concept, and tables with one row per relation."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.formats.tables.table import Table
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import (
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
from tests.support.strategies import Growth, Style, growths, names, quickly, styles

HEADER = ("id", "label", "parents", "definition", "synonyms")
FULL = ",".join(HEADER) + "\n"
ROWS, EDGES = "id,label,parents\n", "child,parent\n"
RICH = Concept("k1", "kiwi", ("actinidia", "kiwifruit"), "green,\nand hairy")


def food(folder: Path, text: str) -> Path:
    return write_file(folder / "food.csv", text)


def read(folder: Path, text: str) -> Taxonomy:
    return TaxonomyFile.open(food(folder, text)).taxonomy


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("food.csv", "child,parent\na,f\n"),
        ("food.csv", "parent,child\nf,a\n"),
        ("food.csv", "child;parent\na;f\n"),
        ("food.csv", "\ufeffchild,parent\r\na,f\r\n"),
        ("food.csv", '"child","parent"\n"a","f"\n'),
        ("food.csv", "Child , Parent\n a , f \n\n"),
        ("food.tsv", "child\tparent\na\tf\n"),
        ("food.txt", "hyponym\thypernym\na\tf"),
        ("food.csv", "note,child_id,parent_id\nred,a,f\n"),
        ("food.csv", "child,parent\nf,\na,f\n"),
        ("food.csv", "concept_id,name,parent_id\nf,f,\na,a,f\n"),
        ("food.csv", "parent;title;code\n;f;f\nf;a;a\n"),
        ("food.csv", "\ufeffURI,prefLabel,Broader\r\nf,f,\r\na,a,f\r\n"),
        ("food.tsv", "id\tterm\tparents\na\ta\tf\nf\tf\t\n"),
        ("food.csv", '"id","label","parent ids"\n"f","f",""\n"a","a","f"\n'),
        ("food.csv", "label,parents\nf,\na,f\n"),
        ("food.csv", "id,parents\nf,\na,f\n"),
        ("food.csv", "id,label,parents\n,f,\na,,f\n"),
    ],
)
def test_all_layouts_are_read(tmp_path: Path, name: str, text: str) -> None:
    expected = Taxonomy([Concept("f", "f"), Concept("a", "a")], [("f", "a")])
    assert TaxonomyFile.open(write_file(tmp_path / name, text)).taxonomy == expected


def test_every_column_is_read(tmp_path: Path) -> None:
    text = FULL + "f,fruit,,sweet,\nr,red,,,\na,apple,f|r,,pomme | malus\n"
    fruit, apple = Concept("f", "fruit", (), "sweet"), Concept("a", "apple", ("pomme", "malus"))
    expected = Taxonomy([fruit, Concept("r", "red"), apple], [("f", "a"), ("r", "a")])
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "concepts", "relations"),
    [
        (EDGES + '"fig, ""dried""\nor fresh",f\n', ['fig, "dried"\nor fresh', "f"], 1),
        (EDGES + "fruit,\nstone,\n", ["fruit", "stone"], 0),
        (EDGES + "fruit,\n", ["fruit"], 0),
        (ROWS + "1,food,\n2,food,1\n", ["1", "2"], 1),
        (ROWS + "a|b,x,\nc,y,a|b\n", ["a|b", "c"], 1),
        (ROWS + "f,fruit,\n", ["f"], 0),
        (ROWS + 'f,"fruit\r\r\r\r\r",\na,apple,\n', ["f", "a"], 0),
    ],
)
def test_unusual_tables_are_read(
    tmp_path: Path, text: str, concepts: list[str], relations: int
) -> None:
    taxonomy = read(tmp_path, text)
    assert list(taxonomy) == concepts
    assert len(taxonomy.relations) == relations


@pytest.mark.parametrize(
    ("text", "line", "end"),
    [
        (ROWS + 'f,fruit,\na,"apple\n1,pear,f\n2,fig",f\n', 3, 5),
        (EDGES + 'apple,fruit\n"pear,fruit\nfig,fruit\nkiwi",fruit\n', 3, 5),
        ('path,definition,code\na,x,1\na > b,"y\na > c,z,2\na > d,z",3\n', 3, 5),
        ('id,parents,label,definition\nf,,fruit,\na,f,apple,"round\nb,f,pear,green"\n', 3, 4),
    ],
)
def test_a_quote_that_closes_some_rows_later_is_noted(
    tmp_path: Path, text: str, line: int, end: int
) -> None:
    (note,) = TaxonomyFile.open(food(tmp_path, text)).notes
    assert note.line == line
    assert f"line breaks, and ends on line {end}" in note.message


def test_definitions_and_synonyms_may_have_several_lines(tmp_path: Path) -> None:
    text = (
        FULL + 'f,fruit,,"sweet,\nof a plant, often, but not, always\nround",\na,apple,f,,"x\ny"\n'
    )
    assert not TaxonomyFile.open(food(tmp_path, text)).notes


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (EDGES + "a,b\nc,b\na,b\n", 4, "'a' under 'b' occurs more than once"),
        (ROWS + "b,fruit,\na,apple,b|b\n", 3, "'a' under 'b' occurs more than once"),
        (ROWS + "f,fruit,\na,apple,f\n,,\nx,Total,\n", 5, "'x' is below a blank row, and has nei"),
    ],
)
def test_doubtful_rows_are_noted(tmp_path: Path, text: str, line: int, message: str) -> None:
    (note,) = TaxonomyFile.open(food(tmp_path, text)).notes
    assert note.line == line
    assert note.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EDGES + "a,b\nc\n", ", line 3: the row has 1 cells, but the header has 2; add the others"),
        (EDGES + "a,b,c\n", ", line 2: the row has 3 cells, but the header has 2; quote cells"),
        (EDGES + "a,b\n,b\n", ", line 3: the child is empty"),
        (EDGES + '"a\nb\nc",d\n,x\n', ", line 5: the child is empty"),
        (EDGES + "a,b\nb,b\n", ", line 3: 'b' is its own parent"),
        (EDGES + 'a,b\n"c,b\nd,b\n', ", line 3: the table is not well-formed (unexpected end"),
        (EDGES, ": the file has no concept"),
        (ROWS + "f,fruit\n", ", line 2: the row has 2 cells, but the header has 3"),
        (ROWS + "f,fruit,\n, ,f\n", ", line 3: the row has neither an id nor a label"),
        (ROWS + "f,x,\na,y,\nf,z,\n", ", line 4: the id 'f' is already used on line 2"),
        (ROWS + "f,x,\na,y,ghost\n", ", line 3: no concept has the id 'ghost'; add the concept"),
        (
            ROWS + "f,fruit,\na,y,f\nb,z,fruit\n",
            ", line 4: no concept has the id 'fruit'; it is the label of 'f'",
        ),
        (ROWS, ": the file has no concept"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = food(tmp_path, text)
    assert refusal(path).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (EDGES + "x,a\na,b\nb,c\nc,a\n", "3, 4, 5"),
        (EDGES + "".join(f"{n},{(n + 1) % 9}\n" for n in range(9)), "2, 3, 4, 5, 6, …"),
        (ROWS + "a,A,b\nx,X,\nb,B,a\n", "2, 4"),
    ],
)
def test_a_cycle_is_refused_with_its_first_lines(tmp_path: Path, text: str, lines: str) -> None:
    path = food(tmp_path, text)
    message = refusal(path)
    assert message.startswith(f"{path}, line {lines[0]}: a cycle: ")
    assert message.endswith(f"remove one of these relations (see the entries on lines {lines})")


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        (
            "edges",
            "below,above\na,b\n",
            "the table needs the columns child and parent. The columns",
        ),
        ("edges", "below,above\na,b\n", "\n   1  below\n   2  above\n"),
        (
            "rows",
            "id,label\nf,fruit\n",
            "the table needs a column id or label, and a column parent",
        ),
        ("rows", "id,label\nf,fruit\n", ":\n   1  id     id\n   2  label  label\n"),
        ("rows", "id,label\nf,fruit\n", "label=1,parent=2"),
        ("edges", "child,parent\ra,b\r", "the first line is not a header ("),
        ("edges", "x" * 200_000, "the first line is not a header ("),
    ],
)
def test_a_wrong_header_is_refused_if_the_format_is_given(
    tmp_path: Path, format: str, text: str, message: str
) -> None:
    path = food(tmp_path, text)
    found = refusal(path, format)
    assert found.startswith(f"{path}, line 1: the ")
    assert message in found


@given(growths(ids=names(breaks=True)), styles(), st.sampled_from(",;\t"), st.sampled_from(QUOTING))
@quickly
def test_an_expanded_table_of_relations_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory,
    growth: Growth,
    style: Style,
    delimiter: str,
    quoting: Literal[0, 1],
) -> None:
    roots = [[root, ""] for root in growth.old.roots]
    relations = [[child, parent] for parent, child in growth.old.relations]
    path = tmp_path_factory.mktemp("edges") / "food.csv"
    rows = [["child", "parent"], *roots, *relations]
    path.write_bytes(style.encode(csv_lines(rows, delimiter, quoting)))
    assert TaxonomyFile.open(path).taxonomy == growth.old
    new = TaxonomyFile.open(expand_file(path, growth.additions)).taxonomy
    assert new == growth.old.expanded(growth.additions)


@given(
    growths(ids=names(without="|", breaks=True), labels=names(breaks=True), details=True),
    styles(),
    st.sampled_from(QUOTING),
)
@quickly
def test_an_expanded_table_of_concepts_keeps_all_bytes_and_reads_back(
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
    new = TaxonomyFile.open(expand_file(path, growth.additions)).taxonomy
    assert new == old.expanded(growth.additions)


COLUMNS = ("id", "label", "parents")
CELLS = st.text('ab",; \t\r\n', max_size=6)


@given(
    rows=st.lists(st.tuples(CELLS, names(breaks=True), CELLS), min_size=1, max_size=5),
    new=names(breaks=True),
    quoting=st.sampled_from(QUOTING),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\r\n,,\r\n", "\r"]), min_size=5),
    place=st.tuples(st.integers(0, 4), st.sampled_from(COLUMNS)),
)
@quickly
def test_exactly_one_cell_is_replaced(
    rows: list[tuple[str, str, str]],
    new: str,
    quoting: int,
    ends: list[str],
    place: tuple[int, str],
) -> None:
    lines = csv_lines([[*COLUMNS], *map(list, rows)], quoting=QUOTING[quoting])
    text = "".join(line + end for line, end in zip(lines, ["\n", *ends], strict=False))
    source = TextFile(Path("x.csv"), text)
    row, column = place[0] % len(rows), place[1]
    (edit,) = Table.open(source).replace_cells({row: {column: new}})
    old = next(csv.reader(io.StringIO(edit.replaced, newline="")), [""])
    assert old == [rows[row][COLUMNS.index(column)]]
    changed = source.apply([edit]).decode()
    assert changed == text[: edit.offset] + edit.text + text[edit.offset + len(edit.replaced) :]
    expected = [list(each) for each in rows]
    expected[row][COLUMNS.index(column)] = new
    read = csv.reader(io.StringIO(changed, newline=""), strict=True)
    assert [cells for cells in read if any(cell.strip() for cell in cells)][1:] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("child,parent\na,f\n", "kiwi,f\n"),
        ("parent\tchild\r\nf\ta", "\r\nf\tkiwi\r\n"),
        ('"child";"parent"\n"a";"f"\n', '"kiwi";"f"\n'),
        ("child,note,parent\na,red,f\n", "kiwi,,f\n"),
        (FULL + "f,fruit,,,\n", 'k1,kiwi,f,"green,\nand hairy",actinidia|kiwifruit\n'),
        ("parents\tid\tlabel\n\tf\tfruit", "\nf\tk1\tkiwi\n"),
        ('"id","label","parents"\r\n"f","fruit",""\r\n', '"k1","kiwi","f"\r\n'),
        ("id,label,parents,colour\nf,fruit,,red\n", "k1,kiwi,f,\n"),
    ],
)
def test_a_row_is_added_in_the_style_of_the_table(tmp_path: Path, text: str, expected: str) -> None:
    assert added_text(food(tmp_path, text), under("f", concept=RICH)) == expected


FOOD = [Concept("1", "berry"), Concept("2", "kiwi")]


@pytest.mark.parametrize(
    ("text", "additions", "expected"),
    [
        (EDGES + "a,f\n", under(), "kiwi,\n"),
        (EDGES + "a,f\n", Additions(FOOD, [("f", "1"), ("1", "2")]), "berry,f\nkiwi,berry\n"),
        (ROWS + "f,fruit,\na,apple,f\n", under("f", "a"), "kiwi,kiwi,f|a\n"),
        ("label,parents\nf,\n", Additions(FOOD, [("f", "1"), ("1", "2")]), "berry,f\nkiwi,berry\n"),
    ],
)
def test_parents_are_written_as_the_table_names_them(
    tmp_path: Path, text: str, additions: Additions, expected: str
) -> None:
    assert added_text(food(tmp_path, text), additions) == expected


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("id,label,parents,definition,synonyms\nf,fruit,,,\n", []),
        ("id,label,parents,synonyms\nf,fruit,,\n", ["definitions"]),
        ("id,parents\nf,\n", ["labels", "synonyms", "definitions"]),
        ("label,parents,definition\nf,,\n", ["ids", "synonyms"]),
        ("child,parent\na,f\n", ["ids", "synonyms", "definitions"]),
    ],
)
def test_data_without_a_column_is_returned_as_lost(
    tmp_path: Path, text: str, lost: list[str]
) -> None:
    path, output = food(tmp_path, text), tmp_path / "new.csv"
    assert write_expanded(path, under("f", concept=RICH), output).lost == lost


KIWIS = [Concept("1", "kiwi"), Concept("2", "kiwi")]
CLASH = ROWS + "a,a,\nb,b,\nc,c,\na|b,x,\n"


@pytest.mark.parametrize(
    ("text", "additions", "message"),
    [
        (EDGES + "a,f\n", under("f", concept=Concept("1", "a")), "the label 'a' is already used"),
        (EDGES + "a,f\n", Additions(KIWIS, []), "the label 'kiwi' is already used"),
        (
            "label,parents\nf,\n",
            Additions([Concept("1", "f")], []),
            "the label 'f' is already used",
        ),
        ("label,parents\nf,\n", Additions(KIWIS, []), "the label 'kiwi' is already used"),
        (CLASH, under("a|b", "c"), "the id 'a|b' contains '|', which separates parents"),
        (CLASH, under("a", "b"), "the id 'a|b' contains '|', which separates parents"),
        (ROWS + "f,f,\n", under("f", concept=Concept("a|3", "kiwi")), "the id 'a|3' contains '|'"),
    ],
)
def test_ambiguous_additions_are_refused(
    tmp_path: Path, text: str, additions: Additions, message: str
) -> None:
    path = food(tmp_path, text)
    assert expansion_refusal(path, additions).startswith(f"{path}: {message}")
