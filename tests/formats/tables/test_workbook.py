from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pytest
from hypothesis import given
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, PatternFill
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table as ExcelTable

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.tables.workbook import new_workbook
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import refusal, under, write_expanded
from tests.support.strategies import Growth, growths, names, quickly

FRUIT = Taxonomy([Concept("1", "fruit"), Concept("2", "apple")], [("1", "2")])
KIWI_3 = Concept("3", "kiwi", ("actinidia",), "green")


def fruit(folder: Path) -> Path:
    """Write a workbook with a title, styles, a table, a comment, and a second sheet."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Terms"
    sheet["A1"] = "Our fruit"
    sheet.append(["Unique ID", "Preferred\nlabel", "Parent", "Changed", "Synonyms"])
    sheet.append([1, "fruit", None, datetime.date(2024, 1, 2), "fruits"])
    sheet.append([2, "apple", 1, True, None])
    for cell in sheet[4]:
        cell.font, cell.fill = Font(bold=True), PatternFill("solid", "FFFF00")
    sheet.add_table(ExcelTable(displayName="T", ref="A2:E4"))
    sheet.column_dimensions["B"].width = 44
    other = workbook.create_sheet("Other words")
    other.append(["child", "parent"])
    other.append(["b", "a"])
    workbook.save(folder / "x.xlsx")
    return folder / "x.xlsx"


def cells_of(path: Path) -> dict[tuple[str, str], tuple[object, ...]]:
    """Return the value and the style of every filled cell, as openpyxl reads them."""
    return {
        (sheet.title, cell.coordinate): (cell.value, cell.font.b, cell.fill.fgColor.rgb)
        for sheet in openpyxl.load_workbook(path).worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    }


def test_the_first_sheet_is_read_or_the_chosen_one(tmp_path: Path) -> None:
    path = fruit(tmp_path)
    taxonomy = read_taxonomy(path)
    assert list(taxonomy.relations) == list(FRUIT.relations)
    assert taxonomy.concept("1").synonyms == ("fruits",)
    assert read_taxonomy(path, sheet="Other words").ids == ("b", "a")
    with pytest.raises(FormatError) as caught:
        read_taxonomy(path, sheet="Third")
    message = "there is no sheet 'Third'; its sheets are 'Terms', 'Other words'"
    assert str(caught.value) == f"{path}: {message}"


def test_new_rows_continue_the_table_and_old_cells_stay(tmp_path: Path) -> None:
    path, output = fruit(tmp_path), tmp_path / "y.xlsx"
    write_expanded(path, under("2", concept=KIWI_3), output)
    old, new = cells_of(path), cells_of(output)
    assert {place: new[place] for place in old} == old
    added = {place[1]: cell for place, cell in new.items() if place not in old}
    values = {place: value for place, (value, *_) in added.items()}
    assert values == {"A5": 3, "B5": "kiwi", "C5": 2, "E5": "actinidia"}
    assert all(style == [True, "00FFFF00"] for _, *style in added.values())
    sheet = openpyxl.load_workbook(output)["Terms"]
    assert sheet.tables["T"].ref == "A2:E5"
    assert sheet.column_dimensions["B"].width == 44
    assert sheet["D5"].fill.fgColor.rgb == "00FFFF00"


def test_all_other_parts_keep_their_bytes(tmp_path: Path) -> None:
    path, output = fruit(tmp_path), tmp_path / "y.xlsx"
    write_expanded(path, under("2", concept=KIWI_3), output)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(output) as new:
        assert old.namelist() == new.namelist()
        changed = {name for name in old.namelist() if old.read(name) != new.read(name)}
    assert changed == {"xl/worksheets/sheet1.xml", "xl/tables/table1.xml"}


def test_adding_nothing_copies_the_workbook(tmp_path: Path) -> None:
    path, output = fruit(tmp_path), tmp_path / "y.xlsx"
    write_expanded(path, Additions([], []), output)
    assert output.read_bytes() == path.read_bytes()


def test_moves_and_synonyms_replace_only_their_cells(tmp_path: Path) -> None:
    path, output = fruit(tmp_path), tmp_path / "y.xlsx"
    pome = Concept("3", "pome")
    additions = Additions(
        [pome], [("1", "3")], moves=[Move("2", "1", "3")], synonyms=[("2", "malus")]
    )
    write_expanded(path, additions, output)
    old, new = cells_of(path), cells_of(output)
    changed = {place[1]: new[place] for place in new if new[place] != old.get(place)}
    assert changed["C4"] == (3, True, "00FFFF00")
    assert changed["E4"] == ("malus", True, "00FFFF00")
    assert set(changed) == {"C4", "E4", "A5", "B5", "C5"}


def with_formula(folder: Path, stored: str) -> Path:
    """Write a workbook whose parent's label is a formula with this stored result."""
    workbook = openpyxl.Workbook()
    workbook.active.append(["id", "label", "parent"])
    workbook.active.append([1, "fruit", None])
    workbook.active.append([2, "apple", "=A2"])
    content = io.BytesIO()
    workbook.save(content)
    path, part = folder / "x.xlsx", "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(
                name, text.replace(b"<v></v>", b"<v />").replace(b"<v />", stored.encode())
            )
        assert b"<f>A2</f>" in old.read(part)
    return path


def test_formulas_and_their_results_stay(tmp_path: Path) -> None:
    path, output = with_formula(tmp_path, "<v>1</v>"), tmp_path / "y.xlsx"
    write_expanded(path, under("2", concept=KIWI_3), output)
    assert openpyxl.load_workbook(output).active["C3"].value == "=A2"
    assert openpyxl.load_workbook(output, data_only=True).active["C3"].value == 1
    assert read_taxonomy(output).parents("2") == ("1",)


def test_a_formula_without_a_result_is_refused(tmp_path: Path) -> None:
    path = with_formula(tmp_path, "<v/>")
    assert refusal(path).startswith(
        f"{path}: the formula in cell C3 of 'Sheet' has no stored result"
    )


def test_formatted_rows_below_the_table_are_filled(tmp_path: Path) -> None:
    path, output = fruit(tmp_path), tmp_path / "y.xlsx"
    workbook = openpyxl.load_workbook(path)
    for row in range(5, 9):
        workbook["Terms"].cell(row, 2).font = Font(italic=True)
    workbook["Terms"]["G9"].font = Font(italic=True)
    workbook.save(path)
    write_expanded(path, under("2", concept=KIWI_3), output)
    sheet = openpyxl.load_workbook(output)["Terms"]
    assert [sheet.cell(row, 2).value for row in range(4, 7)] == ["apple", "kiwi", None]
    assert sheet.cell(6, 2).font.i


def test_rows_are_the_lines_of_errors(tmp_path: Path) -> None:
    path = fruit(tmp_path)
    workbook = openpyxl.load_workbook(path)
    workbook["Terms"].append([3, "fig", 7])
    workbook.save(path)
    assert refusal(path).startswith(f"{path}, line 5: no concept has the id '7'")


def test_other_zip_files_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    assert "a zip archive, not an Excel workbook" in refusal(path)
    path.write_bytes(path.read_bytes()[:20])
    assert "the Excel file is damaged" in refusal(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert "an old Excel file; save it as .xlsx" in refusal(path)


def with_cells(folder: Path, cells: str) -> Path:
    """Write a workbook with a table of three rows, and this XML after them."""
    workbook = openpyxl.Workbook()
    for row in ([1, "fruit", None], [2, "apple", 1]):
        workbook.active.append(row)
    workbook.active.insert_rows(1)
    for column, name in enumerate(["id", "label", "parent"], 1):
        workbook.active.cell(1, column, name)
    content = io.BytesIO()
    workbook.save(content)
    path = folder / "x.xlsx"
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, text.replace("</sheetData>", f"{cells}</sheetData>"))
    assert path.stat().st_size < 10_000
    return path


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ('<row r="999999999"><c r="A999999999"><v>3</v></c></row>', "line 1048577: "),
        ('<row r="999999999"/>', "line 1048577: "),
        ('<row r="1048576"><c r="A1048576"><v>3</v></c></row>', "line 1048576: "),
        ('<row r="4"><c r="ZZZ4"><v>3</v></c></row>', "line 4: "),
        ('<row r="9000"><c r="XFD9000"><v>3</v></c></row>', "line 9000: "),
        ('<row><c r="XFD1"/></row>' * 10_000, "line 6107: "),
    ],
)
def test_cells_far_from_the_table_are_refused_before_the_gap_is_filled(
    tmp_path: Path, cells: str, place: str
) -> None:
    path = with_cells(tmp_path, cells)
    message = refusal(path)
    assert message.startswith(f"{path}, {place}the sheet ")
    assert "far from the table" in message


def test_a_gap_and_formatted_cells_far_from_the_table_are_allowed(tmp_path: Path) -> None:
    cells = '<row r="2000"><c r="A2000"><v>3</v></c><c r="B2000"><v>4</v></c></row>'
    path = with_cells(tmp_path, f'{cells}<row r="2001"><c r="XFD2001"/></row><row r="1048576"/>')
    assert read_taxonomy(path).ids == ("1", "2", "3")


def test_an_output_with_more_rows_than_excel_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    with pytest.raises(FormatError, match=r"x\.xlsx: .*1,048,576 rows") as caught:
        new_workbook(path, "a\n" * 1_048_577)
    assert caught.value.path == path


def test_an_output_with_another_suffix_is_refused(tmp_path: Path) -> None:
    path = fruit(tmp_path)
    with pytest.raises(FormatError, match=r"a \.csv file would be read in another format"):
        write_expanded(path, under("2", concept=KIWI_3), tmp_path / "y.csv")


def test_a_text_that_looks_like_a_formula_stays_a_text(tmp_path: Path) -> None:
    taxonomy = Taxonomy([Concept("=1+1", "=A1"), Concept("007", "-5")], [("=1+1", "007")])
    (tmp_path / "x.json").write_text(
        '[{"id": "=1+1", "label": "=A1"}, {"id": "007", "label": "-5", "parents": ["=1+1"]}]'
    )
    assert convert(tmp_path / "x.json", Target(tmp_path / "x.xlsx")).losses == []
    assert read_taxonomy(tmp_path / "x.xlsx") == taxonomy


@given(growth=growths(names(without="|"), names(breaks=False), details=True))
@quickly
def test_expanded_workbooks_read_back(growth: Growth) -> None:
    with TemporaryDirectory() as folder:
        path, output = Path(folder) / "x.xlsx", Path(folder) / "y.xlsx"
        rows = ["id\tlabel\tparents\tdefinition\tsynonyms"]
        old = growth.old
        path.write_bytes(new_workbook(path, "\n".join(rows) + "\n" + text_of(old)))
        assert read_taxonomy(path) == old
        write_expanded(path, growth.additions, output)
        assert read_taxonomy(output) == old.expanded(growth.additions)


def text_of(taxonomy: Taxonomy) -> str:
    """Return the rows of a taxonomy whose texts have no tabs."""
    quoted = (
        [c.id, c.label, "|".join(taxonomy.parents(c.id)), c.definition, "|".join(c.synonyms)]
        for c in taxonomy.concepts
    )
    return "".join(
        "\t".join('"' + text.replace('"', '""') + '"' for text in row) + "\n" for row in quoted
    )


def with_rows(path: Path, *rows: list[object], table: str = "", totals: int = 0) -> Path:
    """Write a workbook with a table `id,label,parent`, with these rows below its header."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Terms"
    for row in (["id", "label", "parent"], *rows):
        sheet.append(row)
    if table:
        sheet.add_table(ExcelTable(displayName="T", ref=table, totalsRowCount=totals or None))
    workbook.save(path)
    return path


ROWS: tuple[list[object], ...] = ([1, "fruit", None], [2, "apple", 1])


def test_the_total_row_of_a_table_is_no_concept(tmp_path: Path) -> None:
    path = with_rows(tmp_path / "x.xlsx", *ROWS, ["Total", 2], table="A1:C4", totals=1)
    file = TaxonomyFile.open(path)
    assert file.taxonomy == FRUIT
    assert [note.message for note in file.notes] == [
        "rows after row 3 are below the table, and not read"
    ]
    with pytest.raises(FormatError, match="line 4: the rows below the table, from 'Total', are in"):
        file.write(under("1"), tmp_path / "y.xlsx")
    file.write(Additions([], [], moves=[]), tmp_path / "y.xlsx")


def test_rows_below_a_table_are_no_concepts(tmp_path: Path) -> None:
    path = with_rows(tmp_path / "x.xlsx", *ROWS, [], ["Source: 2024"], table="A1:C3")
    assert read_taxonomy(path) == FRUIT


def test_a_small_table_is_not_the_one_with_the_concepts(tmp_path: Path) -> None:
    rows: list[list[object]] = [[n, f"apple {n}", 1] for n in range(3, 9)]
    path = with_rows(tmp_path / "x.xlsx", *ROWS, *rows, table="A1:C3")
    assert len(read_taxonomy(path)) == 8


def test_a_footer_without_relations_is_noted(tmp_path: Path) -> None:
    path = with_rows(tmp_path / "x.xlsx", *ROWS, [], ["Source: 2024"], ["Total", 2])
    assert [
        (note.line, note.message.split(" is")[0]) for note in TaxonomyFile.open(path).notes
    ] == [
        (5, "'Source: 2024'"),
        (6, "'Total'"),
    ]


def read_me(path: Path, *others: str) -> Path:
    """Write a workbook that starts with a read-me, and has a taxonomy on other sheets."""
    workbook = openpyxl.Workbook()
    workbook.active.title = "Read me"
    workbook.active.append(["About this file"])
    for name in others:
        sheet = workbook.create_sheet(name)
        for row in (["id", "label", "parent"], *ROWS):
            sheet.append(row)
    workbook.create_sheet("Empty")
    workbook.save(path)
    return path


def test_the_only_sheet_with_a_taxonomy_is_read(tmp_path: Path) -> None:
    path, output = read_me(tmp_path / "x.xlsx", "Terms"), tmp_path / "y.xlsx"
    file = TaxonomyFile.open(path)
    assert file.taxonomy == FRUIT
    assert [note.message for note in file.notes] == [
        "only the sheet 'Terms' is recognized as a taxonomy, so it is read; "
        "the others are 'Read me', 'Empty'"
    ]
    file.write(under("1"), output)
    assert "kiwi" in read_taxonomy(output)
    assert openpyxl.load_workbook(output)["Terms"]["B4"].value == "kiwi"


Rows = list[list[object]]
INDUSTRIES: Rows = [
    ["Code", "Title"],
    *([code, f"industry {code}"] for code in ("01", "0101", "0102", "010201", "0103", "010301")),
    *([code, f"industry {code}"] for code in ("02", "0201", "020101", "0202")),
]
GROUPS: Rows = [["Level 1", "Level 2"], ["primary", "farming"], ["primary", "fishing"]]


def sheets(path: Path, **rows: Rows) -> Path:
    """Write a workbook with these sheets."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, listed in rows.items():
        sheet = workbook.create_sheet(name)
        for row in listed:
            sheet.append(row)
    workbook.save(path)
    return path


def test_the_sheet_with_the_most_relations_is_read(tmp_path: Path) -> None:
    about: Rows = [["About this file"]]
    path = sheets(tmp_path / "x.xlsx", About=about, Groups=GROUPS, Codes=INDUSTRIES)
    file = TaxonomyFile.open(path)
    assert file.taxonomy.parents("010201") == ("0102",)
    first, *_ = file.notes
    assert "'Codes' is read, because it has the most relations" in first.message
    assert "'Groups' (2), 'Codes' (8)" in first.message
    file.write(under("0102", concept=Concept("010202", "kiwi")), tmp_path / "y.xlsx")
    assert "010202" in TaxonomyFile.open(tmp_path / "y.xlsx").taxonomy


def test_a_first_sheet_of_codes_is_read(tmp_path: Path) -> None:
    path = sheets(tmp_path / "x.xlsx", Codes=INDUSTRIES, Groups=GROUPS)
    file = TaxonomyFile.open(path)
    assert "010201" in file.taxonomy
    assert not any("sheet" in note.message for note in file.notes)


def test_a_first_sheet_with_fewer_relations_is_read_with_a_note(tmp_path: Path) -> None:
    path = sheets(tmp_path / "x.xlsx", Groups=GROUPS, Codes=INDUSTRIES)
    file = TaxonomyFile.open(path)
    assert "primary" in file.taxonomy
    assert "'Groups', is read (2 relations), but others have more: 'Codes' (8)" in (
        file.notes[0].message
    )
    file.write(under("primary"), tmp_path / "y.xlsx")
    assert "kiwi" in TaxonomyFile.open(tmp_path / "y.xlsx").taxonomy.labels


def test_several_sheets_with_a_taxonomy_are_named(tmp_path: Path) -> None:
    path = read_me(tmp_path / "x.xlsx", "Terms", "Words")
    message = refusal(path)
    assert message.startswith(f"{path}: the sheet has only one column; the sheet 'Read me' is read")
    assert "'Terms', 'Words', 'Empty'" in message
    assert read_taxonomy(path, sheet="Words") == FRUIT


def test_ranges_that_end_at_the_last_row_grow(tmp_path: Path) -> None:
    path, output = with_rows(tmp_path / "x.xlsx", *ROWS), tmp_path / "y.xlsx"
    workbook = openpyxl.load_workbook(path)
    sheet = workbook["Terms"]
    sheet.title = "All terms"
    sheet.print_area = "A1:C3"
    for name, area in (("Ids", "$A$2:$A$3"), ("First", "$A$1:$C$2")):
        workbook.defined_names[name] = DefinedName(name, attr_text=f"'All terms'!{area}")
    rule = DataValidation(type="list", formula1='"1,2"')
    rule.add("C2:C3")
    sheet.add_data_validation(rule)
    sheet.conditional_formatting.add("A2:A3", CellIsRule("greaterThan", ["1"]))
    workbook.save(path)
    write_expanded(path, under("1"), output)
    grown = openpyxl.load_workbook(output)
    sheet = grown["All terms"]
    assert sheet.print_area == "'All terms'!$A$1:$C$4"
    assert grown.defined_names["Ids"].attr_text == "'All terms'!$A$2:$A$4"
    assert grown.defined_names["First"].attr_text == "'All terms'!$A$1:$C$2"
    assert str(sheet.data_validations.dataValidation[0].sqref) == "C2:C4"
    assert [str(area.sqref) for area in sheet.conditional_formatting] == ["A2:A4"]
