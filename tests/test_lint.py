from __future__ import annotations

from pathlib import Path

import pytest
from growing import written

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.lint import Finding, lint, lint_file
from taxoexpan.taxonomy import Concept, Taxonomy


def build(labels: dict[str, str], *relations: str) -> Taxonomy:
    concepts = [Concept(id, label) for id, label in labels.items()]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def test_a_clean_taxonomy_has_no_findings() -> None:
    assert lint(build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc")) == []


def test_an_isolated_concept_is_a_warning() -> None:
    found = lint(build({"a": "food", "b": "fruit", "s": "stone"}, "ab"))
    message = "'stone' has neither parent nor child"
    assert found == [Finding("isolated-concept", "warning", "s", message)]


def test_a_label_that_concepts_share_is_worth_knowing() -> None:
    taxonomy = build({"a": "food", "b": "tool", "c": "Date", "d": "date"}, "ac", "bd")
    message = "'Date' is the label of 2 concepts (also: d)"
    assert lint(taxonomy) == [Finding("repeated-label", "info", "c", message)]


def test_a_label_that_siblings_share_is_a_warning() -> None:
    taxonomy = build({"a": "food", "b": "tool", "c": "date", "d": "date"}, "ac", "ad", "bd")
    message = "'date' is the label of two children of one parent (also: d)"
    assert lint(taxonomy) == [Finding("repeated-sibling", "warning", "c", message)]


def test_roots_of_one_label_are_no_siblings() -> None:
    taxonomy = build({"a": "food", "b": "food", "c": "fig", "d": "date"}, "ac", "bd")
    assert [finding.code for finding in lint(taxonomy)] == ["repeated-label"]


def test_of_many_concepts_with_one_label_only_some_are_named() -> None:
    labels = {"r": "root"} | dict.fromkeys("abcdefgh", "x")
    taxonomy = build(labels, *(f"r{id}" for id in "abcdefgh"))
    assert lint(taxonomy)[0].message.endswith("(also: b, c, d, e, f, …)")


def test_a_parent_that_is_an_ancestor_anyway_is_redundant() -> None:
    taxonomy = build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc", "ac")
    message = "'apple' is under 'food' (a) directly, and through another parent as well"
    assert lint(taxonomy) == [Finding("redundant-relation", "info", "c", message)]


def test_a_redundant_parent_is_found_through_a_long_way() -> None:
    taxonomy = build(dict(zip("abcde", "vwxyz", strict=True)), "ab", "bc", "cd", "de", "ae")
    assert [finding.place for finding in lint(taxonomy)] == ["e"]


def test_two_ways_to_one_ancestor_are_not_redundant() -> None:
    taxonomy = build(dict(zip("abcd", "wxyz", strict=True)), "ab", "ac", "bd", "cd")
    assert lint(taxonomy) == []


def test_a_cycle_in_a_file_is_one_error_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\nb,a\n")
    (finding,) = lint_file(path)
    assert (finding.code, finding.severity, finding.place) == ("unreadable", "error", "line 2")
    assert "a cycle: " in finding.message


def test_an_error_of_the_whole_file_has_the_file_as_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "empty.csv", "")
    (finding,) = lint_file(path)
    assert finding.place == str(path)


def test_a_missing_file_is_an_error_and_not_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        lint_file(tmp_path / "missing.csv")


def test_what_was_noticed_in_the_file_comes_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\na,b\n")
    message = "'a' under 'b' is given more than once"
    assert lint_file(path) == [Finding("file", "warning", "line 3", message)]


def test_a_clean_file_has_no_findings(tmp_path: Path) -> None:
    assert lint_file(written(tmp_path / "food.csv", "child,parent\na,b\n")) == []


def test_a_named_format_is_used_for_linting(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\n")
    (finding,) = lint_file(path, "rows")
    assert "the header must name id or label, and parents" in finding.message
    with pytest.raises(ConfigurationError, match="no format is called 'xml'"):
        lint_file(path, "xml")
