from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.github_annotations import github_annotations


def test_texts_cannot_end_a_property_or_a_command() -> None:
    message = "100%\r\n::set-output name=x::y, a:b"
    finding = Finding("file", "error", "a:b,c", message, path=Path("a:b,c%.csv"), line=3)
    (line,) = github_annotations([finding])
    assert line == (
        "::error file=a%3Ab%2Cc%25.csv,line=3,title=file::"
        "a:b,c: 100%25%0D%0A::set-output name=x::y, a:b"
    )


@pytest.mark.parametrize(
    ("severity", "command"), [("error", "error"), ("warning", "warning"), ("info", "notice")]
)
def test_a_finding_without_a_line_annotates_the_file(severity: str, command: str) -> None:
    finding = Finding("hub", severity, "food.csv", "many", path=Path("food.csv"))  # type: ignore[arg-type]
    assert list(github_annotations([finding])) == [f"::{command} file=food.csv,title=hub::many"]


def test_standard_input_has_no_file() -> None:
    finding = Finding("hub", "info", "a", "many", path=Path("-"), line=2)
    assert list(github_annotations([finding])) == ["::notice line=2,title=hub::a: many"]
