from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.cli.messages import note, print_line
from taxoexpan.cli.parser import flag
from taxoexpan.cli.taxonomy_messages import print_file_notes
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile


def test_an_error_names_its_option_as_a_flag() -> None:
    error = ConfigurationError("there is no confidence", option="min_score")
    assert str(error) == "there is no confidence (option min_score)"
    assert error.spelled(flag) == "there is no confidence (option --min-score)"


def test_a_message_shows_control_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    note("already present: a\x1b[2J\x9b is\rb\nlisted")
    assert capsys.readouterr().err == "already present: a\\x1b[2J\\x9b is\\rb\n  listed\n"
    note("\nstopped")
    assert capsys.readouterr().err == "\nstopped\n"


def test_a_line_for_people_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("added a\nb\x1b")
    assert capsys.readouterr().out == "added a\\nb\\x1b\n"


def test_an_error_does_not_repeat_a_whole_file() -> None:
    error = FormatError(Path("x.csv"), f"{'y' * 18_000!r} is not a label", line=7, option="name")
    shown = error.spelled(flag)
    assert len(shown) < 300
    assert shown.startswith("x.csv, line 7: 'yyy")
    assert shown.endswith("is not a label (option --name)")


def test_a_note_about_a_whole_file_names_only_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    path = tmp_path / "x.ttl"
    path.write_text(
        f"<x:a> a <{skos}Concept> . <x:b> a <{skos}Concept> ; <{skos}broaderTransitive> <x:a> ."
        f'<x:a> <{skos}prefLabel> "a" . <x:b> <{skos}prefLabel> "b" .'
    )
    print_file_notes(TaxonomyFile.open(path))
    assert f"warning: {path}: skos:broaderTransitive (1)" in capsys.readouterr().err
