from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.formats.tables.formula_cells import protect_cells, unprotected, with_apostrophe

TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝a "))


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_a_formula_gets_an_apostrophe(formula: str) -> None:
    assert protect_cells({"query": formula}, keep_formulas=False) == {"query": f"'{formula}"}
    assert protect_cells({"query": formula}, keep_formulas=True) == {"query": formula}


@pytest.mark.parametrize("cell", ["oat milk", "'t kofschip", "1-2", "", -1, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert protect_cells({"query": cell}, keep_formulas=False) == {"query": cell}


@given(TEXTS, st.booleans())
def test_every_text_is_read_as_it_was(text: str, keep_formulas: bool) -> None:
    written = protect_cells({"query": text}, keep_formulas)["query"]
    assert isinstance(written, str)
    assert unprotected(written) == text


@given(TEXTS)
def test_no_protected_text_starts_like_a_formula(text: str) -> None:
    written = protect_cells({"query": text}, keep_formulas=False)["query"]
    assert not str(written).startswith(tuple("=+-@\t\r\n＝"))


@pytest.mark.parametrize("text", ["=1+1", "@a", "-ase", "+1+1", "\t=1", "-2+3", "＝1"])
def test_what_a_spreadsheet_computes_gets_an_apostrophe(text: str) -> None:
    assert with_apostrophe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+49", "-1.5", "-1,000", "a=b", "'=1", ""])
def test_numbers_and_texts_are_not_computed(text: str) -> None:
    assert with_apostrophe(text) == text
