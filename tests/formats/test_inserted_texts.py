"""A new concept is written so that its texts are read back unchanged, or it is refused."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import write_file
from tests.support.strategies import names, quickly

HTTP = "http://food.org/"
OLD = Taxonomy(
    [Concept(HTTP + "food", "food"), Concept(HTTP + "fruit", "fruit", ("fruits",), "it is sweet")],
    [(HTTP + "food", HTTP + "fruit")],
)
FILES = [
    *(("terms", "x.terms"), ("edges", "x.csv"), ("rows", "x.csv"), ("rows", "x.tsv")),
    *(("rows", "x.xlsx"), ("paths", "x.txt"), ("paths", "x.csv"), ("outline", "x.md")),
    *(("outline", "x.txt"), ("json", "x.json"), ("json", "x.jsonl"), ("obographs", "x.json")),
    *(("skos", f"x.{suffix}") for suffix in ("ttl", "rdf", "nt", "jsonld", "trig", "nq")),
    *(("owl", "x.owl"), ("owl", "x.ttl"), ("obo", "x.obo"), ("openfoodfacts", "x.txt")),
]
CASES = pytest.mark.parametrize(("format", "name"), FILES)


def opened(format: str, name: str, folder: Path) -> TaxonomyFile:
    """Write the old taxonomy in this format, and open it."""
    contents = FORMATS[format].write(OLD, Target(folder / name)).contents()
    for path, content in contents.items():
        path.write_bytes(content)
    return TaxonomyFile.open(next(iter(contents)), format)


def inserted(file: TaxonomyFile, new: Concept) -> Concept | None:
    """Return the new concept as it is read back, or None if it is refused."""
    fruit = next(id for id in file.taxonomy if file.taxonomy.concept(id).label == "fruit")
    try:
        contents = file.write(Additions([new], [(fruit, new.id)]), None).contents
    except FormatError:
        return None
    reread = file.format.read(file.file.with_parts(contents)).taxonomy
    (id,) = set(reread) - set(file.taxonomy)
    return reread.concept(id)


@CASES
@given(
    label=names(breaks=True),
    synonyms=st.lists(names(breaks=True), max_size=2),
    definition=st.just("") | names(breaks=True),
)
@quickly
def test_texts_are_read_back_unchanged_or_refused(
    format: str, name: str, label: str, synonyms: list[str], definition: str
) -> None:
    with TemporaryDirectory() as folder:
        file = opened(format, name, Path(folder))
        read = inserted(file, Concept(HTTP + "new", label, tuple(synonyms), definition))
        fields = file.format.supported_fields(file.file)
    if read is not None:
        assert read.label == label
        if "synonyms" in fields:
            assert set(read.synonyms) - {label} == set(synonyms) - {label}
        if "definitions" in fields:
            assert read.definition.split() == definition.split()


@CASES
@pytest.mark.parametrize("label", ["_a_", "1.0", "=a", "a, b", "x: y", "&amp;", "007", "a #"])
def test_usual_labels_are_not_refused(format: str, name: str, label: str, tmp_path: Path) -> None:
    assert inserted(opened(format, name, tmp_path), Concept(HTTP + "new", label)) is not None


@pytest.mark.parametrize("text", ["a\rb", "a\x0bb", "_x0041_"])
def test_excel_files_hold_characters_that_xml_does_not(tmp_path: Path, text: str) -> None:
    new = Concept(HTTP + "new", text, (text + "s",), text)
    assert inserted(opened("rows", "x.xlsx", tmp_path), new) == new


@pytest.mark.parametrize("label", ["new", "a|b"])
def test_a_synonym_with_the_separator_is_refused_before_a_training(
    label: str, tmp_path: Path
) -> None:
    file = opened("rows", "x.csv", tmp_path)
    with pytest.raises(FormatError, match=r"synonym 'a\|b' of .* would be read back as"):
        file.can_hold([Concept("new", label, ("a|b",))], 1, tmp_path / "new.csv")


def test_line_breaks_that_a_definition_loses_are_reported(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", "en: Food\n\n< en: Food\nen: Fruit\n")
    for definition, lost in (("one\ntwo", ["line breaks in definitions"]), ("one", [])):
        additions = Additions(
            [Concept("en:kiwi", "Kiwi", (), definition)], [("en:food", "en:kiwi")]
        )
        assert TaxonomyFile.open(path).write(additions, None).lost == lost
