from __future__ import annotations

from pathlib import Path

import pytest
from expanded_files import write_file
from hypothesis import given
from labeled_taxonomies import build
from strategies import quickly, taxonomies

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.checks.all_checks import check_file, check_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.taxonomy import Taxonomy


def test_a_clean_taxonomy_has_no_findings() -> None:
    assert check_taxonomy(build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc")) == []


@quickly
@given(taxonomies())
def test_every_finding_has_a_known_code_and_the_id_of_a_concept(
    taxonomy: Taxonomy,
) -> None:
    for finding in check_taxonomy(taxonomy):
        assert finding.severity in (CODES[finding.code].severity, "warning")
        assert finding.place in taxonomy


def test_each_cycle_in_a_file_is_an_error(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,b\nb,a\nc,d\nd,e\ne,c\nf,a\n")
    found = check_file(path)
    assert {(finding.code, finding.severity) for finding in found} == {("cycle", "error")}
    assert [set(finding.place) <= set("abcde") for finding in found] == [True, True]
    for finding, members in zip(found, ("ab", "cde"), strict=True):
        assert finding.place in members
        path_spelled = finding.message.removeprefix("a cycle: ").partition(";")[0].split(" → ")
        assert path_spelled[0] == path_spelled[-1] == finding.place
        assert set(path_spelled) == set(members)
        assert "remove one of these relations" in finding.message


def test_a_file_that_cannot_be_read_is_one_error_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\nb,a\na,a\n")
    (finding,) = check_file(path)
    assert (finding.code, finding.severity, finding.place) == ("unreadable", "error", "line 3")


def test_the_place_of_an_error_without_a_line_is_the_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "empty.csv", "")
    (finding,) = check_file(path)
    assert finding.place == str(path)


def test_a_missing_file_is_an_error_and_not_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        check_file(tmp_path / "missing.csv")


def test_a_note_of_the_reader_is_a_finding_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,b\na,b\n")
    message = "'a' under 'b' occurs more than once"
    assert check_file(path) == [Finding("file", "warning", "line 3", message, path=path, line=3)]


def test_a_concept_without_a_label_in_the_file_is_named_by_its_id(tmp_path: Path) -> None:
    text = """
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    <http://food.org/1> a skos:Concept ; skos:prefLabel "food" .
    <http://food.org/2> a skos:Concept ; skos:broader <http://food.org/1> .
    """
    (finding,) = check_file(write_file(tmp_path / "food.ttl", text))
    assert (finding.code, finding.severity) == ("missing-label", "info")
    assert finding.place == "http://food.org/2"


def test_a_clean_file_has_no_findings(tmp_path: Path) -> None:
    assert check_file(write_file(tmp_path / "food.csv", "child,parent\na,b\n")) == []


def test_a_format_can_be_given_by_name(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,b\n")
    (finding,) = check_file(path, "rows")
    assert "the table needs a column id or label, and a column parent" in finding.message
    with pytest.raises(ConfigurationError, match="there is no format 'xml'"):
        check_file(path, "xml")
