from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan.cli.main import build_parser
from taxoexpan.github.commands import apply_command, decide, place_command
from taxoexpan.github.inputs import Inputs
from tests.support.expanded_files import write_file


def test_probable_places_of_a_model_are_accepted(tmp_path: Path) -> None:
    header = "query,rank,parent_id,confidence,decision,kind,place\n"
    rows = "oat,1,a,0.7,,attach,\noat,2,b,0.6,,attach,\nrye,1,a,0.4,,attach,\n"
    rows += '"a ""b"", c",1,a,0.9,,attach,none\ntea,1,a,0.9,,merge,\n'
    path = write_file(tmp_path / "suggestions.csv", header + rows)
    decide(path)
    decisions = [line.split(",")[-3] for line in path.read_text().splitlines()[1:]]
    assert decisions == ["accepted", "undecided", "undecided", "undecided", "undecided"]
    assert '"a ""b"", c",1' in path.read_text()
    write_file(path, header + "oat,1,a,,,attach,\nrye,1,a,,,attach,none\n")
    decide(path)
    assert (
        path.read_text() == header + "oat,1,a,,accepted,attach,\nrye,1,a,,undecided,attach,none\n"
    )


def test_the_options_for_reading_are_given_to_every_command_that_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path / "a.csv", "child,parent\n")
    read = {"columns": "label=-1,parent=2", "format": "rows", "language": "en"}
    given = {"commands": "suggest", "files": "a.csv", "terms": "new.txt", **read}
    inputs = Inputs.read({f"TAXOEXPAN_{name.upper()}": value for name, value in given.items()})
    suggestions = Path("suggestions.csv")
    for command in (
        place_command(inputs, suggestions),
        apply_command(inputs, suggestions, Path("expanded.csv"), Path("changes.md")),
    ):
        options = vars(build_parser().parse_args(command))
        assert {name: options[name] for name in read} == read
    command = place_command(replace(inputs, model="model"), suggestions)
    assert command[0] == "suggest"
    assert str(build_parser().parse_args(command).model) == "model"
