from __future__ import annotations

from pathlib import Path

import pytest
from expanded_files import KIWI, refusal, under, write_expanded, write_file

from taxoexpan.errors import ConfigurationError, FormatError, TaxonomyError
from taxoexpan.formats.registry import FORMATS, find_format
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept

EDGES = "child,parent\napple,fruit\n"


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("x.terms", "a\tb\n", "terms"),
        ("x.taxo", "a\tb\n", "terms"),
        ("x.txt", EDGES, "edges"),
        ("x.csv", "child,parent,path\na,b,b > a\n", "paths"),
        ("x.csv", "id,label,parents\n1,a,\n", "rows"),
        ("x.tsv", "name\tbroader\na\t\n", "rows"),
        ("x.csv", "A\nA > B\nA > C\n", "paths"),
        ("x", "1 - A > B\n", "paths"),
        ("x.txt", "# food\n\n<en:a\nen:b, c\nde: d\nwikidata:en: Q1\n", "openfoodfacts"),
        ("x.csv", "path\nen: A > B\nen: A\n", "paths"),
        ("x.csv", "path\nA\n", "paths"),
        ("x.csv", "child,parent\nA > B,A\nA > C,A\n", "edges"),
        ("x.csv", "id,label,parents\nA > B,B,A > C\nA > C,C,\n", "rows"),
    ],
)
def test_a_format_is_detected_by_content(name: str, text: str, format: str) -> None:
    assert find_format(TextFile(Path(name), text)) is FORMATS[format]


def test_a_given_format_overrides_the_detected_one(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "label,child,parent\nred,apple,fruit\nfruit,x,\n")
    assert set(TaxonomyFile.open(path).taxonomy) == {"apple", "fruit", "x"}
    assert set(TaxonomyFile.open(path, "rows").taxonomy) == {"red", "fruit"}


def test_an_unknown_format_name_lists_the_known_ones(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    message = "there is no format 'xml'; choose one of terms, wordnet, obo, owl, skos, json, open"
    with pytest.raises(ConfigurationError, match=message):
        TaxonomyFile.open(path, "xml")


@pytest.mark.parametrize("text", ["below,above\na,b\n", "just some words\n", '"\n', ",,\n"])
def test_an_unrecognized_file_lists_the_formats(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "food.csv", text)
    message = refusal(path)
    assert message.startswith(
        f"{path}: the format is not recognized; a table needs a header such as child,parent. "
        "The known formats are:\n"
    )
    assert [line.split()[0] for line in message.splitlines()[1:]] == list(FORMATS)


def test_an_output_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    output = write_file(tmp_path / "new.csv", "mine")
    with pytest.raises(FormatError) as caught:
        write_expanded(path, under("fruit"), output)
    assert str(caught.value) == f"{output}: already exists; choose another name, or use force=True"
    assert output.read_text() == "mine"
    write_expanded(path, under("fruit"), output, force=True)
    assert output.read_text() == EDGES + "kiwi,fruit\n"


def test_a_file_can_be_expanded_in_place_with_force(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    write_expanded(path, under("fruit"), path, force=True)
    assert path.read_text() == EDGES + "kiwi,fruit\n"


@pytest.mark.parametrize("name", ["food.v2", "new.txt", "new", "new.CSV"])
def test_the_output_has_exactly_the_given_name(tmp_path: Path, name: str) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    write_expanded(path, under("fruit"), tmp_path / name, force=True)
    assert {file.name for file in tmp_path.iterdir()} == {"food.csv", name}
    assert path.read_text() == EDGES
    assert len(TaxonomyFile.open(tmp_path / name).taxonomy) == 3


@pytest.mark.parametrize("suffix", [".tsv", ".terms", ".taxo"])
def test_an_output_with_the_suffix_of_another_format_is_refused(
    tmp_path: Path, suffix: str
) -> None:
    path, output = write_file(tmp_path / "food.csv", EDGES), tmp_path / f"new{suffix}"
    with pytest.raises(FormatError) as caught:
        write_expanded(path, under("fruit"), output)
    assert str(caught.value) == (
        f"{output}: a {suffix} file would be read in another format than food.csv; "
        "use a name that ends in .csv"
    )
    assert not output.exists()


@pytest.mark.parametrize(
    "additions",
    [
        under("ghost"),
        under(concept=Concept("apple", "pear")),
        Additions([KIWI], [("apple", "kiwi"), ("kiwi", "fruit")]),
    ],
)
def test_invalid_additions_write_nothing(tmp_path: Path, additions: Additions) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    with pytest.raises(TaxonomyError):
        write_expanded(path, additions, tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_an_invalid_taxonomy_writes_nothing(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,a\n")
    with pytest.raises(FormatError, match="its own parent"):
        write_expanded(path, under("a"), tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    with pytest.raises(FormatError, match="does not exist; create it first"):
        write_expanded(path, under("fruit"), tmp_path / "nowhere" / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [EDGES, EDGES[:-1], "\ufeff" + EDGES])
def test_adding_nothing_copies_the_file(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "food.csv", text)
    assert write_expanded(path, Additions([], []), tmp_path / "new.csv").lost == []
    assert (tmp_path / "new.csv").read_bytes() == path.read_bytes()


def test_a_format_can_be_given_for_writing(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "label,child,parent\nred,x,\n")
    write_expanded(path, under("red"), tmp_path / "new.csv", "rows")
    assert (tmp_path / "new.csv").read_text().endswith("kiwi,,red\n")
