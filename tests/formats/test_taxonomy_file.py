from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from taxoexpan.errors import ChangedFileError, FormatError
from taxoexpan.formats import obo, terms, text_file
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.json import document
from taxoexpan.formats.rdf.skos import SkosIndex
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.tables import path_layouts, table
from taxoexpan.formats.tables.columns import checked_columns
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

IRI = "http://food.org/"
FOOD = Taxonomy(
    [Concept(f"{IRI}1", "food"), Concept(f"{IRI}2", "fruit"), Concept(f"{IRI}3", "apple")],
    [(f"{IRI}1", f"{IRI}2"), (f"{IRI}2", f"{IRI}3")],
)


@dataclass(frozen=True)
class Case:
    """A format, a file name, and the function that parses a file of this format."""

    format: str
    name: str
    owner: object
    parser: str
    moves: bool = True


CASES = [
    Case("terms", "food.terms", terms, "_columns"),
    Case("edges", "food.csv", table.Table, "open"),
    Case("rows", "food.csv", table.Table, "open"),
    Case("paths", "food.tsv", table.Table, "open"),
    Case("paths", "food.txt", path_layouts.PathLines, "categories"),
    Case("obo", "food.obo", obo, "parse_stanzas"),
    Case("json", "food.json", document, "load"),
    Case("obographs", "food.json", document, "load"),
    Case("skos", "food.ttl", SkosIndex, "read"),
    Case("skos", "food.rdf", SkosIndex, "read", moves=False),
]
of_every_format = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.format}-{case.name}"
)


def write_food(case: Case, folder: Path) -> Path:
    """Write the taxonomy in the format of the case."""
    path = folder / case.name
    for part, text in FORMATS[case.format].write(FOOD, Target(path)).files.items():
        part.write_bytes(text.encode("utf-8"))
    return path


def kiwi_below(file: TaxonomyFile, moves: bool = False) -> Additions:
    """Additions of one concept below the first relation's parent, with or without a move."""
    parent, child = file.taxonomy.relations[0]
    id = f"{IRI}4" if file.format.name in ("skos", "terms", "obo", "rows", "json") else "kiwi"
    id = "4" if file.format.name == "paths" else id
    moved = [Move(child, parent, id)] if moves else []
    return Additions([Concept(id, "kiwi")], [(parent, id)], moves=moved)


def record_files(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[TextFile]:
    """The files that a function is called with."""
    files: list[TextFile] = []
    original: Callable[..., Any] = getattr(owner, name)

    def recorded(file: Any, *arguments: Any) -> Any:
        files.append(getattr(file, "file", file))
        return original(file, *arguments)

    monkeypatch.setattr(owner, name, recorded)
    return files


@of_every_format
def test_a_file_is_parsed_once_to_read_check_and_expand_it(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, output = write_food(case, tmp_path), tmp_path / f"new{Path(case.name).suffix}"
    loaded: Counter[Path] = Counter()
    original = text_file.read_bytes

    def read_bytes(path: Path) -> bytes:
        loaded[path] += 1
        return original(path)

    monkeypatch.setattr(text_file, "read_bytes", read_bytes)
    parsed = record_files(monkeypatch, case.owner, case.parser)
    read = record_files(monkeypatch, FORMATS[case.format], "read")
    file = TaxonomyFile.open(path, case.format)
    additions = kiwi_below(file)
    file.can_hold(additions.concepts, 1, output)
    file.write(additions, output)
    assert [each is file.file for each in read].count(True) == 1
    assert [each is file.file for each in parsed].count(True) == 1
    assert set(loaded.values()) == {1}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.moves], ids=lambda case: f"{case.format}-{case.name}"
)
@pytest.mark.parametrize("moves", [True, False])
def test_a_written_file_is_read_once_more_to_verify_it(
    case: Case, moves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, output = write_food(case, tmp_path), tmp_path / f"new{Path(case.name).suffix}"
    read = record_files(monkeypatch, FORMATS[case.format], "read")
    file = TaxonomyFile.open(path, case.format)
    file.write(kiwi_below(file, moves), output)
    texts = [each.text for each in read]
    assert texts.count(file.file.text) == 1
    assert texts.count(output.read_bytes().decode("utf-8")) == 1


@of_every_format
def test_a_simulation_does_not_change_what_is_written(case: Case, tmp_path: Path) -> None:
    path, suffix = write_food(case, tmp_path), Path(case.name).suffix
    one, other = tmp_path / f"one{suffix}", tmp_path / f"other{suffix}"
    TaxonomyFile.open(path, case.format).write(
        kiwi_below(TaxonomyFile.open(path, case.format)), one
    )
    file = TaxonomyFile.open(path, case.format)
    additions = kiwi_below(file)
    changes = file.format.supported_changes(file.file)
    file.can_hold(additions.concepts, 1, other, changes)
    file.write(additions, other)
    written = sorted(one.iterdir()) if one.is_dir() else [one]
    for part in written:
        twin = other / part.name if one.is_dir() else other
        assert part.read_bytes() == twin.read_bytes()


@pytest.mark.parametrize("name", ["food.terms", "food.json"])
def test_a_file_that_changes_on_disk_after_opening_does_not_matter(
    tmp_path: Path, name: str
) -> None:
    case = next(case for case in CASES if case.name == name)
    path, output = write_food(case, tmp_path), tmp_path / f"new{Path(name).suffix}"
    file = TaxonomyFile.open(path)
    for part in tmp_path.iterdir():
        part.write_text("something else\n", encoding="utf-8")
    additions = kiwi_below(file)
    file.write(additions, output)
    assert TaxonomyFile.open(output).taxonomy == FOOD.expanded(additions)


def test_the_simulation_refuses_what_writing_would_refuse(tmp_path: Path) -> None:
    path = tmp_path / "food.txt"
    path.write_text("food > fruit\nfood > bread\n", encoding="utf-8")
    file, output = TaxonomyFile.open(path), tmp_path / "new.txt"
    with pytest.raises(FormatError, match="'kiwi' has 2 parents, but a path has only one"):
        file.can_hold([Concept("kiwi", "kiwi")], 2, output)
    output.touch()
    with pytest.raises(FormatError, match="already exists"):
        file.can_hold([Concept("kiwi", "kiwi")], 1, output)
    file.can_hold([Concept("kiwi", "kiwi")], 1, output, force=True)
    assert output.read_bytes() == b""


def test_a_file_knows_the_flags_that_read_it_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('Ref,"Name, short",Up\n1,food,\n2,fruit,1\n')
    columns = checked_columns({"id": "Ref", "label": "Name, short", "parent": "Up"})
    options = ReadOptions("en", instances=True, columns=columns, sheet="A 1", separator="; ")
    assert TaxonomyFile.open(path, "rows", options).read_flags == [
        *("--format", "rows", "--language", "en"),
        *("--columns", 'id="Ref",label="Name, short",parents="Up"'),
        *("--separator", "; ", "--sheet", "A 1", "--instances"),
    ]


@of_every_format
def test_a_file_that_has_changed_since_it_was_read_is_not_replaced(
    case: Case, tmp_path: Path
) -> None:
    path = write_food(case, tmp_path)
    file = TaxonomyFile.open(path, case.format)
    additions = kiwi_below(file)
    part = next(iter(file.write(additions, None).contents))
    edited = part.read_bytes() + b"\n"
    part.write_bytes(edited)
    with pytest.raises(ChangedFileError, match="was changed by another program") as caught:
        file.write(additions, path, force=True)
    kept = path.with_name(f"{path.stem}-2{path.suffix}")
    assert kept.name in str(caught.value)
    assert part.read_bytes() == edited
    assert "kiwi" in TaxonomyFile.open(kept, case.format).taxonomy.labels


IN_PLACE = ("x.csv", "x.csv.gz", "x.xlsx", "x.json", "x.ttl", "x.terms", "x.terms.gz")


@pytest.mark.parametrize("name", IN_PLACE)
def test_of_two_writers_that_have_read_the_same_file_the_second_is_refused(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    convert(write_food(CASES[1], tmp_path), Target(path))
    first, second = TaxonomyFile.open(path), TaxonomyFile.open(path)
    fruit = next(concept.id for concept in first.taxonomy.concepts if concept.label == "fruit")
    new = [Additions([Concept(f"{IRI}{n}", n)], [(fruit, f"{IRI}{n}")]) for n in ("kiwi", "plum")]
    first.write(new[0], path, force=True)
    with pytest.raises(ChangedFileError, match="was changed by another program"):
        second.write(new[1], path, force=True)
    labels = TaxonomyFile.open(path).taxonomy.labels
    assert [label.rpartition("/")[2] for label in labels].count("kiwi") == 1
    assert "plum" not in str(labels)


def test_a_change_in_a_sheet_that_is_not_read_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    workbook = openpyxl.Workbook()
    workbook.active.append(["notes"])
    sheet = workbook.create_sheet("Terms")
    for row in (["child", "parent"], ["fruit", "food"], ["apple", "fruit"]):
        sheet.append(row)
    workbook.save(path)
    file = TaxonomyFile.open(path)
    workbook.worksheets[0].append(["by a colleague"])
    workbook.save(path)
    edited = path.read_bytes()
    with pytest.raises(ChangedFileError, match=r"x-2\.xlsx"):
        file.write(kiwi_below(file), path, force=True)
    assert path.read_bytes() == edited
    TaxonomyFile.open(path).write(kiwi_below(file), path, force=True)
    sheets = openpyxl.load_workbook(path).worksheets
    assert [sheet.max_row for sheet in sheets] == [2, 4]


def test_both_files_of_a_taxonomy_are_compared_whichever_is_named_as_output(
    tmp_path: Path,
) -> None:
    path = write_food(CASES[0], tmp_path)
    file, relations = TaxonomyFile.open(path), path.with_suffix(".taxo")
    edited = relations.read_bytes() + b"\n"
    relations.write_bytes(edited)
    with pytest.raises(ChangedFileError):
        file.write(kiwi_below(file), relations, force=True)
    assert relations.read_bytes() == edited


@of_every_format
def test_a_file_that_has_not_changed_is_replaced(case: Case, tmp_path: Path) -> None:
    path = write_food(case, tmp_path)
    file = TaxonomyFile.open(path, case.format)
    file.write(kiwi_below(file), path, force=True)
    assert "kiwi" in TaxonomyFile.open(path, case.format).taxonomy.labels
