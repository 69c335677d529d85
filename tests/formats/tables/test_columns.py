from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.tables.columns import (
    Columns,
    checked_columns,
    columns_text,
)
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import KIWI, refusal, under, write_file

FRUIT = Taxonomy([Concept("1", "fruit"), Concept("2", "apple")], [("1", "2")])
IAB = (
    "Relational ID System\t\t\tContent Taxonomy v3.1 Tiered Categories\t\t\tExtension\r\n"
    "Unique ID\tParent\tName\tTier 1\tTier 2\tTier 3\t\r\n"
    "150\t\tHome\tHome\t\t\t\r\n"
    "151\t150\tKitchen\tHome\tKitchen\t\t\r\n"
    "152\t151\tDisposable Tableware\tHome\tKitchen\tDisposable Tableware\t\r\n"
    "160\t\tParty\tParty\t\t\t\r\n"
    "161\t160\tDisposable Tableware\tParty\tDisposable Tableware\t\t\r\n"
)
"""In the layout of the IAB Tech Lab's Content Taxonomy: a title, ids, and repeated labels."""


def read(path: Path, columns: str = "") -> Taxonomy:
    options = ReadOptions(columns=checked_columns(columns))
    return TaxonomyFile.open(path, options=options).taxonomy


def test_a_table_of_the_iab_is_read_by_its_unique_ids(tmp_path: Path) -> None:
    taxonomy = read(write_file(tmp_path / "iab.tsv", IAB))
    assert taxonomy.ids == ("150", "151", "152", "160", "161")
    assert taxonomy.labels.count("Disposable Tableware") == 2
    assert list(taxonomy.relations) == [("150", "151"), ("151", "152"), ("160", "161")]


def test_a_new_row_of_the_iab_table_has_its_tiers(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "iab.tsv", IAB), tmp_path / "new.tsv"
    berry = Concept("162", "Napkins")
    TaxonomyFile.open(path).write(under("161", concept=berry), output)
    added = "162\t161\tNapkins\tParty\tDisposable Tableware\tNapkins\t\r\n"
    assert output.read_bytes().decode() == IAB + added


def test_moves_are_refused_where_tiers_repeat_the_paths(tmp_path: Path) -> None:
    file = TaxonomyFile.open(write_file(tmp_path / "iab.tsv", IAB))
    with pytest.raises(FormatError, match="moves of existing concepts are not possible"):
        file.check_changes({"moves": "--allow-moves"})


@pytest.mark.parametrize(
    "header",
    [
        "Unique ID,Name,Parent",
        "unique_id,Preferred label,Parent ID",
        "ConceptID,Term,Broader",
        "URI,Concept,broader term",
        "Code , Category name , PARENT_CODE",
        "Class ID,Preferred Label,Parents",
        "identifier,Title,Parent name",
        "id,prefLabel,parent-label",
    ],
)
@pytest.mark.parametrize("by_label", [False, True])
def test_usual_headers_are_recognized(tmp_path: Path, header: str, by_label: bool) -> None:
    parent = "fruit" if by_label or header.endswith(("name", "parent-label")) else "1"
    path = write_file(tmp_path / "x.csv", f"{header}\n1,fruit,\n2,apple,{parent}\n")
    assert read(path) == FRUIT


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Ref,Wort,Label,Oben\n1,fruit,x,\n2,apple,y,1\n", "id=Ref,label=Wort,parent=Oben"),
        ("Ref,Wort,Label,Oben\n1,fruit,x,\n2,apple,y,1\n", 'id="Ref", label = "Wort" ,parent=oben'),
        ("Ref,Wort,Label,Oben\n1,fruit,x,\n2,apple,y,1\n", "id=1,label=2,parents=4"),
        ("Ref,Wort,Darüber\n1,fruit,\n2,apple,fruit\n", "id=ref,name=2,parent_label=3"),
        ("id,label,parent,path,real\n1,fruit,9,a > b,\n2,apple,9,a > b,1\n", "parent=real"),
        (",Wort,Oben\n1,fruit,\n2,apple,1\n", "id=1,label=2,parent=3"),
    ],
)
def test_columns_are_chosen_by_name_or_number(tmp_path: Path, text: str, columns: str) -> None:
    path = write_file(tmp_path / "x.csv", text)
    assert read(path, columns) == read_taxonomy(path, columns=columns) == FRUIT


@pytest.mark.parametrize(
    ("name", "text", "columns", "relation"),
    [
        ("x.csv", "id,label,parent\n7,a,\n7,b,a\n", "id=", ("a", "b")),
        ("x.csv", "below,above\nb,a\n", "child=below,parent=above", ("a", "b")),
        ("x.csv", "no,where\n1,a\n2,a > b\n", "id=no,path=where", ("1", "2")),
        ("x.csv", "group,item\na,\na,b\n", "level1=group,level2=item", ("a", "a > b")),
        ("x.txt", "below,above\nA > B,A > C\n", "child=1,parent=2", ("A > C", "A > B")),
    ],
)
def test_columns_of_every_kind_can_be_chosen(
    tmp_path: Path, name: str, text: str, columns: str, relation: tuple[str, str]
) -> None:
    assert list(read(write_file(tmp_path / name, text), columns).relations) == [relation]


def test_title_lines_are_skipped_and_kept(tmp_path: Path) -> None:
    text = 'Our fruit\n"as of, 2024"\n\nid;label;parent\n1;fruit;\n2;apple;1\n'
    path, output = write_file(tmp_path / "x.csv", text), tmp_path / "y.csv"
    assert read(path) == FRUIT
    TaxonomyFile.open(path).write(under("1"), output)
    assert output.read_text() == text + "kiwi;kiwi;1\n"
    assert TaxonomyFile.open(path).parsed.ignored == {"title line": 2}


MUSEUM = "Museum thesaurus;\nGenerated 2020;\nWort;Oben\nObjects;\nVessels;Objects\n"
"""A table with title lines that are as long as the header, as Excel writes them."""


@pytest.mark.parametrize(
    "columns", ["label=1,parent=2", "label=Wort,parent=Oben", "label=1,parent=Oben"]
)
def test_columns_are_chosen_below_title_lines(tmp_path: Path, columns: str) -> None:
    taxonomy = read(write_file(tmp_path / "x.csv", MUSEUM), columns)
    assert taxonomy.ids == ("Objects", "Vessels")
    assert list(taxonomy.relations) == [("Objects", "Vessels")]


def test_columns_are_chosen_by_number_below_a_title_with_several_cells(tmp_path: Path) -> None:
    text = IAB.replace("Unique ID", "Nummer").replace("Parent", "Oben")
    assert len(read(write_file(tmp_path / "iab.tsv", text), "id=1,parent=2,label=3")) == 5


@pytest.mark.parametrize("name", ["x.dat", "x"])
def test_title_lines_are_skipped_whatever_the_name_of_the_file(tmp_path: Path, name: str) -> None:
    text = "Our fruit\n\nID\tTerm\tBroader\n1\tfruit\t\n2\tapple\t1\n"
    path = write_file(tmp_path / name, text)
    assert read(path) == FRUIT
    assert TaxonomyFile.open(path, "rows").taxonomy == FRUIT


def test_the_output_of_a_table_with_a_title_may_have_any_name(tmp_path: Path) -> None:
    text = "Our fruit\nID\tTerm\tBroader\tStatus\n1\tfruit\t\tok\n2\tapple\t1\tok\n"
    path, output = write_file(tmp_path / "x.tsv", text), tmp_path / "out.dat"
    written = TaxonomyFile.open(path).write(under("1"), output)
    assert output.read_text() == text + "kiwi\tkiwi\t1\t\n"
    assert written.left_blank == ["column 'Status'"]


def test_cells_may_be_separated_by_bars(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id|label|parent\n1|fruit|\n2|apple|1\n")
    assert read(path) == FRUIT
    output = tmp_path / "y.csv"
    TaxonomyFile.open(path).write(under("1", "2"), output)
    assert output.read_text().endswith('kiwi|kiwi|"1|2"\n')


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("id,label,parent\r1,fruit,\r", [": the lines end with CR"]),
        (
            "Wort,Oben\nlabel,parent\nparent,x\n",
            [", line 1: the columns do not say how the concepts are related"],
        ),
        (
            "Our fruit\nid,label,parent\n1,fruit,\n2,apple,9\n",
            [", line 4: no concept has the id '9'"],
        ),
        (
            "id,label,parent\n1,other,\n2,other,\n3,apple,other\n",
            [", line 4: the parent 'other' is the label of", "lines 2 (id '1'), 3 (id '2')"],
        ),
        (
            "id,label,Parent name\n1,fruit,\n2,apple,froot\n",
            [", line 3: no concept has the label 'froot'"],
        ),
        (
            "Ref no,Name,Parent\n1,a,\n2,b,\n3,b,\n",
            [
                ", line 4: the id 'b' is already used on line 3; ",
                "   1  Ref no\n",
                "example id=NAME",
            ],
        ),
        (MUSEUM, [", line 3: the columns do not say", "   1  Wort\n   2  Oben\n"]),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(
    tmp_path: Path, text: str, messages: list[str]
) -> None:
    path = write_file(tmp_path / "x.csv", text)
    found = refusal(path)
    assert found.startswith(f"{path}{messages[0]}")
    assert all(message in found for message in messages)


def test_new_parents_are_written_like_the_old_ones(tmp_path: Path) -> None:
    both = "id,label,parent id,parent name\n1,fruit,,\n2,apple,1,fruit\n"
    labels = "id,label,parent\n1,fruit,\n2,apple,fruit\n"
    additions = Additions([KIWI, Concept("3", "gold")], [("2", "kiwi"), ("kiwi", "3")])
    for text, added in (
        (both, "kiwi,kiwi,2,apple\n3,gold,kiwi,kiwi\n"),
        (labels, "kiwi,kiwi,apple\n3,gold,kiwi\n"),
    ):
        path, output = write_file(tmp_path / "x.csv", text), tmp_path / "y.csv"
        TaxonomyFile.open(path).write(additions, output, force=True)
        assert output.read_text() == text + added


def test_a_parent_with_a_shared_label_cannot_be_written_by_label(tmp_path: Path) -> None:
    text = "id,label,parent\n1,fruit,\n2,x,fruit\n3,x,fruit\n"
    file = TaxonomyFile.open(write_file(tmp_path / "x.csv", text))
    with pytest.raises(FormatError, match="several concepts have the label 'x'"):
        file.write(under("2"), tmp_path / "y.csv")


def test_a_chosen_column_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id,label,parent\n1,a,\n")
    for wrong in ("Nummer", "4", "0"):
        with pytest.raises(FormatError, match=f"There is no column '{wrong}'. The columns are:"):
            read(path, f"id={wrong}")


def test_another_delimiter_inside_cells_does_not_hide_the_columns(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id,label,parent\n1,a,\n2,b|c|d|e|f|g,1\n")
    with pytest.raises(FormatError) as caught:
        read(path, "id=99,label=2,parent=3")
    assert "There is no column '99'. The columns are:\n   1  id\n" in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id", "'id' is not a list of columns.*id="),
        ('id="a', "is not a list of columns"),
        ("colour=1", "there is no column 'colour'; choose from id, label, parent_label"),
        ("id=1,id=2", "the column id is chosen twice"),
        ("parent=1,parents=2", "the column parents is chosen twice"),
        ("label=1,parent=1", "parent and label are the same column"),
    ],
)
def test_a_wrong_choice_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        checked_columns(text)


def test_a_quoted_header_may_contain_commas_and_quotes() -> None:
    chosen = checked_columns('label="Name, ""short""",id=a b')
    assert chosen == {"label": 'Name, "short"', "id": "a b"}
    assert checked_columns(columns_text(chosen)) == chosen
    assert checked_columns("id=,path=") == {"id": "", "path": ""}


@pytest.mark.parametrize(
    ("header", "count"),
    [
        ("level 1,level 2,level 3", 3),
        ("Tier1,Tier2", 2),
        ("L1,L2", 2),
        ("Level_0,Level_1", 2),
        ("Foo Tier 1 Value,Foo Tier 2 Value,Bar Tier 1 Value,Bar Tier 2 Value", 2),
        ("Tier 1,Tier 2,Name,Tier 1,Tier 2,Tier 3", 2),
        ("level 1 name,level 1 id,level 2 name,level 2 id", 2),
        ("level 1", 0),
        ("level 2,level 3", 0),
        ("level 1,level 3", 0),
        ("html1,html2", 0),
        (f"level 1,level {'9' * 5_000}", 0),
    ],
)
def test_level_columns_are_recognized(header: str, count: int) -> None:
    assert len(Columns.of(header.split(","), {}).levels) == count


def test_a_table_without_a_label_column_has_its_labels_in_the_tiers(tmp_path: Path) -> None:
    text = "\tUnique ID\tParent ID\tCondensed Name\tTier 1\tTier 2\n"
    text += "\t1\t\tAge\tAge\t\n\t2\t1\tAge | 18-20\tAge\t18-20\n"
    path, output = write_file(tmp_path / "x.tsv", text), tmp_path / "y.tsv"
    file = TaxonomyFile.open(path)
    assert file.taxonomy.labels == ("Age", "18-20")
    written = file.write(under("1", concept=Concept("3", "21-24")), output)
    assert output.read_text() == text + "\t3\t1\t\tAge\t21-24\n"
    assert written.lost == []
    assert written.left_blank == ["column 'Condensed Name'"]


def notes(path: Path) -> list[str]:
    return [f"{note.place}: {note.message}" for note in TaxonomyFile.open(path).notes]


ROOT = "no concept has the id {!r}; it is read as a blank parent"


@pytest.mark.parametrize("marker", ["0", "-", "NULL", "N/A", "none"])
def test_a_marker_of_roots_is_a_blank_parent(tmp_path: Path, marker: str) -> None:
    path = write_file(tmp_path / "x.csv", f"id,label,parent\n1,fruit,{marker}\n2,apple,1\n")
    assert read(path) == FRUIT
    assert notes(path) == [f"line 2: {ROOT.format(marker)}"]


@pytest.mark.parametrize(
    ("text", "ids", "noted"),
    [
        ("id,label,parent\n0,all,\n1,fruit,0\n2,apple,0\n", "0 1 2", []),
        (
            "child,parent\nfruit,NULL\nhome,NULL\napple,fruit\n",
            "fruit home apple",
            [f"line 2: {ROOT.format('NULL')} (2 times)"],
        ),
        ("child,parent\n1,0\n2,0\n", "1 0 2", []),
        (
            "id,label,parent\n1,a,1\n2,b,1\n",
            "1 2",
            ["line 2: '1' is its own parent; it is read as a concept without a parent"],
        ),
        (
            "id,label,label,parent\n1,fruit,x,\n2,apple,y,1\n",
            "1 2",
            ["line 1: two columns are called 'label'; the one on the left is read"],
        ),
        (
            "id,label,parent,parent name\n1,a,,\n2,b,1,plant\n3,c,1,a\n4,d,1,\n",
            "1 2 3 4",
            ["line 3: the parent '1' is 'a', but its name is given as 'plant'; the id is used"],
        ),
    ],
)
def test_doubtful_cells_are_noted(tmp_path: Path, text: str, ids: str, noted: list[str]) -> None:
    path = write_file(tmp_path / "x.csv", text)
    assert read(path).ids == tuple(ids.split())
    assert notes(path) == noted


def test_options_of_tables_are_refused_for_other_files(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.obo", "[Term]\nid: F:1\nname: fruit\n")
    with pytest.raises(FormatError, match=r"not a table \(obo\).*option columns"):
        read_taxonomy(path, columns="id=1")
    table = write_file(tmp_path / "x.csv", "child,parent\nb,a\n")
    with pytest.raises(FormatError, match=r"not an Excel file \(edges\).*option sheet"):
        read_taxonomy(table, sheet="Terms")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("section,number,text,parent\nI,1,animals,\nI,2,horses,1\n", "the id or the label"),
        ("child,above\nb,a\n", "the parent"),
    ],
)
def test_the_column_that_is_missing_is_named(tmp_path: Path, text: str, missing: str) -> None:
    path = write_file(tmp_path / "x.csv", text)
    assert f"none is recognized as {missing}. The columns are:" in refusal(path)


def test_a_table_with_one_column_has_no_other_to_choose(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "Name\nfruit\napple\n")
    with pytest.raises(FormatError, match=r"   1  Name.*\nIf it has paths, choose it.*path=1"):
        TaxonomyFile.open(path, "rows")
