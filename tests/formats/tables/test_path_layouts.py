from __future__ import annotations

from pathlib import Path

import pytest
from expanded_files import added_text, refusal, under, write_file

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy


@pytest.mark.parametrize("sign", ["/", " / ", " » ", "|", "::", "\\", ">", "›"])
def test_paths_of_a_table_may_have_another_separator(tmp_path: Path, sign: str) -> None:
    rows = [["Food"], ["Food", "Fruit"], ["Food", "Fruit", "Apple"]]
    text = "".join(f"{n},{sign.join(row)}\n" for n, row in enumerate(rows, start=1))
    path = write_file(tmp_path / "x.csv", f"id,path\n{text}")
    taxonomy = TaxonomyFile.open(path).taxonomy
    assert taxonomy.labels == ("Food", "Fruit", "Apple")
    assert list(taxonomy.relations) == [("1", "2"), ("2", "3")]
    written = " > " if sign == ">" else sign
    assert added_text(path, under("2")) == f"kiwi,{written.join(['Food', 'Fruit', 'kiwi'])}\n"


def test_a_move_keeps_the_separator(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id,path\n1,Food\n2,Food/Fruit\n3,Food/Fruit/Fig\n")
    exotic = Concept("4", "Exotic")
    additions = Additions([exotic], [("2", "4")], moves=[Move("3", "2", "4")])
    TaxonomyFile.open(path).write(additions, tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == (
        "id,path\n1,Food\n2,Food/Fruit\n3,Food/Fruit/Exotic/Fig\n4,Food/Fruit/Exotic\n"
    )


def test_paths_with_leaves_only_have_parents_in_common(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "path\nFood/Fruit/Fig\nFood/Fruit/Pear\n")
    assert len(TaxonomyFile.open(path).taxonomy.roots) == 1


def test_a_sign_that_may_be_part_of_labels_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "path\nTV/Radio\nBed/Bath\nHe/She\nOther\n")
    assert refusal(path).startswith(
        f"{path}, line 2: the paths have no '>', and it is not clear whether '/' separates labels"
    )


def test_a_sign_in_a_single_label_is_part_of_it(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "path\nTV/Radio\nBed\nOther\n")
    assert TaxonomyFile.open(path).taxonomy.labels == ("TV/Radio", "Bed", "Other")


@pytest.mark.parametrize(
    ("paths", "written"), [("A/B\nA / C", "A/kiwi"), ("A / B\nA / C", "A / kiwi")]
)
def test_most_separators_must_have_spaces_for_a_new_one_to_have_them(
    tmp_path: Path, paths: str, written: str
) -> None:
    path = write_file(tmp_path / "x.csv", f"path\nA\n{paths}\n")
    assert added_text(path, under("A")) == f"{written}\n"


@pytest.mark.parametrize("labels", [("a", "a/b", "a/c"), ("TV/Radio", "Bed/Bath", "He/She")])
def test_labels_that_would_be_read_as_paths_are_not_written(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    flat = Taxonomy([Concept(label, label) for label in labels])
    path = tmp_path / "x.csv"
    message = "without relations, signs in the labels would be read as separators of paths"
    fix = "choose a name that ends in .txt, or another format"
    with pytest.raises(FormatError, match=f"^{path}: {message}; {fix}$"):
        FORMATS["paths"].write(flat, Target(path))


def test_labels_with_signs_are_written_as_lines(tmp_path: Path) -> None:
    flat = Taxonomy([Concept(str(n), label) for n, label in enumerate(("a", "a/b", "a/c"))])
    (path, text), *_ = FORMATS["paths"].write(flat, Target(tmp_path / "x.txt")).files.items()
    path.write_text(text)
    assert TaxonomyFile.open(path).taxonomy == flat


def test_a_relation_makes_signs_in_labels_part_of_them(tmp_path: Path) -> None:
    taxonomy = Taxonomy([Concept(id, id) for id in ("a", "a/b", "c")], [("a", "c")])
    (path, text), *_ = FORMATS["paths"].write(taxonomy, Target(tmp_path / "x.csv")).files.items()
    path.write_text(text)
    assert TaxonomyFile.open(path).taxonomy == taxonomy
