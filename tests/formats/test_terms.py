from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from taxoexpan.errors import FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import (
    KIWI,
    added_text,
    expand_file,
    expansion_refusal,
    refusal,
    under,
    write_expanded,
    write_file,
)
from tests.support.strategies import Growth, Style, growths, names, quickly, styles


def pair(folder: Path, terms: str, taxo: str | None = None) -> Path:
    if taxo is not None:
        write_file(folder / "food.taxo", taxo)
    return write_file(folder / "food.terms", terms)


def fruit(folder: Path) -> Path:
    return pair(folder, "f\tfruit\na\tapple\n", "f\ta\n")


def test_both_files_are_read(tmp_path: Path) -> None:
    path = pair(tmp_path, "f\tfruit\na\tapple\nr\tred\n", "f\ta\nr\ta\n")
    expected = Taxonomy(
        [Concept("f", "fruit"), Concept("a", "apple"), Concept("r", "red")],
        [("f", "a"), ("r", "a")],
    )
    assert TaxonomyFile.open(path).taxonomy == expected
    assert TaxonomyFile.open(path).notes == ()


def test_either_file_can_be_given(tmp_path: Path) -> None:
    path = fruit(tmp_path)
    assert TaxonomyFile.open(path.with_suffix(".taxo")).taxonomy == TaxonomyFile.open(path).taxonomy


@pytest.mark.parametrize("taxo", [None, "", "\n", " \r\n"])
def test_the_first_relation_can_be_added(tmp_path: Path, taxo: str | None) -> None:
    path = pair(tmp_path, "f\tfruit\n", taxo)
    assert TaxonomyFile.open(path).taxonomy == Taxonomy([Concept("f", "fruit")])
    new = TaxonomyFile.open(expand_file(path, under("f"))).taxonomy
    assert set(new.relations) == {("f", "kiwi")}


def test_relations_without_their_concepts_are_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.taxo", "a\tb\n")
    assert refusal(path).startswith(f"{tmp_path / 'food.terms'}: there is no such file")


@pytest.mark.parametrize(
    ("terms", "taxo", "message"),
    [
        ("f\tfruit\na\n", "", "terms, line 2: 1 cells"),
        ("f\tfruit\na\tapple\tpomme\n", "", "terms, line 2: 3 cells"),
        ("f\tfruit\n\tapple\n", "", "terms, line 2: 2 cells"),
        ("f\tfruit\na\t \n", "", "terms, line 2: 2 cells"),
        ("f\tfruit\na\tapple\nf\tfig\n", "", "terms, line 3: the id 'f' is already used on line 1"),
        ("f\tfruit\na\tapple\n", "f a\n", "taxo, line 1: 1 cells"),
        ("f\tfruit\n", "f\tghost\n", "taxo, line 1: no concept has the id 'ghost'"),
        ("f\tfruit\n\na\tapple\n", "f\ta\n\n \nf\tx\n", "taxo, line 4: no concept has the id 'x'"),
        ("f\tfruit\na\tapple\n", "f\ta\nfruit\ta\n", "taxo, line 2: no concept has the id 'fruit'"),
        ("a\tA\nb\tB\n", "a\tb\nb\tb\n", "taxo, line 2: 'b' is its own parent"),
        ("a\tA\nb\tB\nc\tC\n", "c\ta\na\tb\nb\ta\n", "taxo, line 2: a cycle: "),
    ],
)
def test_an_invalid_pair_is_refused(tmp_path: Path, terms: str, taxo: str, message: str) -> None:
    path = pair(tmp_path, terms, taxo)
    assert refusal(path).startswith(f"{path.with_suffix('')}.{message}")


def test_a_repeated_relation_is_noted_and_stored_once(tmp_path: Path) -> None:
    document = TaxonomyFile.open(pair(tmp_path, "f\tfruit\na\tapple\n", "f\ta\nf\ta\n"))
    assert len(document.taxonomy.relations) == 1
    (note,) = document.notes
    assert (note.line, note.message) == (2, "'a' under 'f' occurs more than once")


NAMES = names(without="\t")


@given(growths(ids=NAMES, labels=NAMES), styles())
@quickly
def test_the_expanded_pair_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, style: Style
) -> None:
    folder = tmp_path_factory.mktemp("terms")
    terms, taxo = folder / "food.terms", folder / "food.taxo"
    terms.write_bytes(style.encode([f"{c.id}\t{c.label}" for c in growth.old.concepts]))
    taxo.write_bytes(style.encode([f"{p}\t{c}" for p, c in growth.old.relations]))
    assert TaxonomyFile.open(terms).taxonomy == growth.old
    expanded = expand_file(terms, growth.additions)
    assert expanded.with_suffix(".taxo").read_bytes().startswith(taxo.read_bytes())
    assert TaxonomyFile.open(expanded).taxonomy == growth.old.expanded(growth.additions)


def test_one_line_per_concept_is_added(tmp_path: Path) -> None:
    assert added_text(fruit(tmp_path), under("f")) == "kiwi\tkiwi\n"
    assert (tmp_path / "expanded.taxo").read_text() == "f\ta\nf\tkiwi\n"


def test_synonyms_and_definitions_are_lost(tmp_path: Path) -> None:
    rich = Concept("k1", "kiwi", ("actinidia",), "a fruit")
    lost = write_expanded(fruit(tmp_path), under("f", concept=rich), tmp_path / "new.terms").lost
    assert lost == ["synonyms", "definitions"]


@pytest.mark.parametrize("mark", ["\t", "\n", "\r"])
def test_a_name_with_a_tab_or_a_line_break_is_refused(tmp_path: Path, mark: str) -> None:
    name = f"green{mark}kiwi"
    message = expansion_refusal(fruit(tmp_path), under("f", concept=Concept("k", name)))
    assert message.startswith(f"{tmp_path / 'food.terms'}: {name!r} contains a tab")


@pytest.mark.parametrize("output", ["new.v2", "new.v2.terms", "new.v2.taxo"])
def test_the_output_names_either_file_or_both(tmp_path: Path, output: str) -> None:
    write_expanded(fruit(tmp_path), under("f"), tmp_path / output)
    assert {path.name for path in tmp_path.glob("new*")} == {"new.v2.terms", "new.v2.taxo"}


def test_neither_file_is_written_if_one_exists(tmp_path: Path) -> None:
    path = fruit(tmp_path)
    write_file(tmp_path / "new.taxo", "mine")
    with pytest.raises(FormatError, match=r"new\.taxo: already exists"):
        write_expanded(path, Additions([KIWI], []), tmp_path / "new.terms")
    assert not (tmp_path / "new.terms").exists()
    assert (tmp_path / "new.taxo").read_text() == "mine"


READ_AND_MEASURE = """
import json, resource, sys, time
from taxoexpan import read_taxonomy
began = time.monotonic()
taxonomy = read_taxonomy(sys.argv[1])
print(json.dumps({
    "concepts": len(taxonomy),
    "relations": len(taxonomy.relations),
    "seconds": time.monotonic() - began,
    "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
}))
"""


@pytest.mark.slow
def test_a_million_concepts_are_read_in_less_than_two_gigabytes(tmp_path: Path) -> None:
    size = 1_000_000
    random = np.random.default_rng(0)
    children = np.arange(2, size)
    near = random.integers(children // 2, children)
    far = random.integers(0, children // 2)
    columns = np.column_stack([np.arange(size), np.arange(size)])
    np.savetxt(tmp_path / "big.terms", columns, "C%07d\tthe concept numbered %d")
    pairs = np.column_stack([np.concatenate([near, far]), np.tile(children, 2)])
    np.savetxt(tmp_path / "big.taxo", pairs, "C%07d\tC%07d")
    command = [sys.executable, "-c", READ_AND_MEASURE, str(tmp_path / "big.terms")]
    measured = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(measured)
    assert (measured["concepts"], measured["relations"]) == (size, len(pairs))
    assert measured["gigabytes"] < 2
