"""Texts that a spreadsheet would compute."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.formats.tables.formulas import (
    protect_additions,
    protect_cells,
    protect_taxonomy,
    unprotected,
    with_apostrophe,
)
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import write_file

TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝a "))


ROWS = "id,label,parents,definition,synonyms\nfood,food,,,\n=old,=A1,food,=B1,\n"
SUGGESTED = "query,query_id,parent_id,definition,synonyms\n"
NEW = "'=1+1,'@id,food,'+define,'-x|=y\nkiwi,k,=old,,\n"


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_a_formula_gets_an_apostrophe(formula: str) -> None:
    assert protect_cells({"query": formula}) == {"query": f"'{formula}"}


@pytest.mark.parametrize("cell", ["oat milk", "'t kofschip", "1-2", "", -1, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert protect_cells({"query": cell}) == {"query": cell}


@given(TEXTS)
def test_every_text_is_read_as_it_was(text: str) -> None:
    written = protect_cells({"query": text})["query"]
    assert isinstance(written, str)
    assert unprotected(written) == text


@given(TEXTS)
def test_no_protected_text_starts_like_a_formula(text: str) -> None:
    written = protect_cells({"query": text})["query"]
    assert not str(written).startswith(tuple("=+-@\t\r\n＝"))


@pytest.mark.parametrize("text", ["=1+1", "@a", "-ase", "+1+1", "\t=1", "-2+3", "＝1"])
def test_what_a_spreadsheet_computes_gets_an_apostrophe(text: str) -> None:
    assert with_apostrophe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+49", "-1.5", "-1,000", "a=b", "'=1", ""])
def test_numbers_and_texts_are_not_computed(text: str) -> None:
    assert with_apostrophe(text) == text


def apply(path: Path) -> str:
    """Apply the suggestions to a file, and return what is behind its old text."""
    old = path.read_text(encoding="utf-8")
    suggestions = write_file(path.parent / "suggestions.csv", SUGGESTED + NEW)
    output = path.with_name(f"new-{path.name}")
    assert main(["apply", str(path), str(suggestions), "-o", str(output)]) == 0
    written = output.read_text(encoding="utf-8")
    assert written.startswith(old)
    return written.removeprefix(old)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (ROWS, "'@id,'=1+1,food,'+define,'-x|=y\nk,kiwi,=old,,\n"),
        ("child,parent\n=old,food\n", "'=1+1,food\nkiwi,=old\n"),
    ],
)
def test_new_rows_get_an_apostrophe_and_old_rows_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, added: str
) -> None:
    assert apply(write_file(tmp_path / "x.csv", text)) == added
    assert "note: 1 new text starts with an added apostrophe" in capsys.readouterr().err


def test_a_text_file_of_paths_is_no_spreadsheet(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", "food\nfood > =old\n")
    suggestions = write_file(tmp_path / "s.csv", "query,parent_label\n'=1,food\n")
    assert main(["apply", str(path), str(suggestions), "-o", str(tmp_path / "y.txt")]) == 0
    assert (tmp_path / "y.txt").read_text(encoding="utf-8").endswith("food > =1\n")


@pytest.mark.parametrize("name", ["y.csv", "y.tsv"])
def test_a_converted_table_has_no_formulas(tmp_path: Path, name: str) -> None:
    path, output = write_file(tmp_path / "x.csv", ROWS), tmp_path / name
    assert main(["convert", str(path), str(output)]) == 0
    taxonomy = read_taxonomy(output)
    assert taxonomy.concept("'=old") == Concept("'=old", "'=A1", (), "'=B1")
    assert tuple(taxonomy.relations) == (("food", "'=old"),)


def test_cells_of_excel_are_texts_and_stay_exact(tmp_path: Path) -> None:
    path, book = write_file(tmp_path / "x.csv", ROWS), tmp_path / "x.xlsx"
    assert main(["convert", str(path), str(book)]) == 0
    suggestions = write_file(tmp_path / "s.csv", SUGGESTED + NEW)
    assert main(["apply", str(book), str(suggestions), "-o", str(tmp_path / "y.xlsx")]) == 0
    cells = [c for row in openpyxl.load_workbook(tmp_path / "y.xlsx").active.rows for c in row]
    assert {cell.data_type for cell in cells if cell.value is not None} <= {"s", "inlineStr"}
    assert [cell.value for cell in cells if cell.row == 4] == [
        *("@id", "=1+1", "food", "+define", "-x|=y")
    ]


def test_every_reference_to_a_protected_concept_follows_it() -> None:
    taxonomy = Taxonomy([Concept("a", "a"), Concept("b", "b", ("c",))], [("a", "b")])
    additions = Additions(
        [Concept("=1", "=1"), Concept("-2", "-2")],
        [("a", "=1"), ("=1", "-2")],
        moves=[Move("b", "a", "=1")],
        synonyms=[("a", "=x"), ("a", "=y"), ("b", "=z")],
    )
    protected, count = protect_additions(taxonomy, additions)
    assert count == 2
    assert [concept.id for concept in protected.concepts] == ["'=1", "-2"]
    assert protected.relations == [("a", "'=1"), ("'=1", "-2")]
    assert protected.moves == [Move("b", "a", "'=1")]
    assert protected.synonyms == [("a", "'=x"), ("a", "=y"), ("b", "=z")]


def test_a_taxonomy_without_formulas_is_the_same() -> None:
    taxonomy = Taxonomy([Concept("a", "a")], [])
    assert protect_taxonomy(taxonomy) == (taxonomy, 0)
