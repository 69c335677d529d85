from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.formats.tables.columns import checked_columns
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import refusal, under, write_file

DEPRECATED = ["true", "TRUE", "1", "1.0", "yes", "Y", "t", "X", "Deprecated", "obsolete", "retired"]
ACTIVE = ["", "false", "FALSE", "0", "0.0", "no", "N", "f", "active", "Current", "NULL", "-"]


def table(folder: Path, header: str, *values: str) -> Path:
    """Write a table of fruits with these values in the last column."""
    rows = [f"{n},fruit {n},{'1' if n > 1 else ''},{v}\n" for n, v in enumerate(values, start=1)]
    return write_file(folder / "x.csv", f"id,label,parent,{header}\n{''.join(rows)}")


@pytest.mark.parametrize(
    ("value", "expected"), [*((v, True) for v in DEPRECATED), *((v, False) for v in ACTIVE)]
)
def test_usual_values_are_understood(tmp_path: Path, value: str, expected: bool) -> None:
    concepts = TaxonomyFile.open(table(tmp_path, "Deprecated", "", value)).taxonomy.concepts
    assert [concept.deprecated for concept in concepts] == [False, expected]
    levels = write_file(tmp_path / "y.csv", f"Level 1,Level 2,Obsolete\na,,\na,b,{value}\n")
    assert TaxonomyFile.open(levels).taxonomy.concepts[1].deprecated == expected


@pytest.mark.parametrize("value", ["2021-03-04", "see kiwi", "maybe", "2"])
def test_an_unclear_value_is_refused_with_the_accepted_ones(tmp_path: Path, value: str) -> None:
    path = table(tmp_path, "Deprecated", "", value)
    message = refusal(path)
    assert message.startswith(f"{path}, line 3: {value!r} in the column 'Deprecated'")
    assert "true, yes, y, t, x, 1, deprecated" in message
    ignored = ReadOptions(columns=checked_columns("deprecated="))
    assert not TaxonomyFile.open(path, options=ignored).taxonomy.deprecated


@pytest.mark.parametrize("header", ["Status", "status", " STATUS "])
def test_a_status_says_which_concepts_are_deprecated(tmp_path: Path, header: str) -> None:
    path = table(tmp_path, header, "active", "Deprecated", "", "draft", "withdrawn")
    file = TaxonomyFile.open(path)
    assert [concept.deprecated for concept in file.taxonomy.concepts] == [0, 1, 0, 0, 1]
    assert not file.notes


@pytest.mark.parametrize("values", [("active", "in stock"), ("yes", "no"), ("deprecated", "1")])
def test_another_status_is_named_as_not_read(tmp_path: Path, values: tuple[str, str]) -> None:
    file = TaxonomyFile.open(table(tmp_path, "Status", *values))
    assert not file.taxonomy.deprecated
    (note,) = file.notes
    assert "'Status' is not read" in note.message
    other = next(value for value in values if value not in ("active", "deprecated"))
    assert f"{other!r} does not say" in note.message


def test_a_status_that_new_concepts_lack_is_reported(tmp_path: Path) -> None:
    file = TaxonomyFile.open(table(tmp_path, "Status", "active", "active", "deprecated"))
    written = file.write(under("1", concept=Concept("9", "kiwi")), tmp_path / "y.csv")
    assert written.left_blank == ["column 'Status'"]


def test_a_status_beside_relations_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "child,parent,Status\nb,a,active\nc,a,deprecated\n")
    assert any("'Status'" in note.message for note in TaxonomyFile.open(path).notes)
