from __future__ import annotations

from pathlib import Path

import pytest
from expanded_files import write_file

from taxoexpan.cli.main import main


def test_the_base_and_the_losses_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "id,label,parents,synonyms\n1,food,,\n2,tea,1,cha\n"
    table = write_file(tmp_path / "food.csv", rows)
    assert main(["convert", str(table), str(tmp_path / "food.ttl")]) == 0
    message = "note: 2 ids written as IRIs that start with http://example.org/; --base sets another"
    assert message in capsys.readouterr().err.splitlines()
    base = ["--base", "http://food.org/"]
    assert main(["convert", str(table), str(tmp_path / "own.ttl"), *base]) == 0
    assert "IRIs that start with http://food.org/\n" in capsys.readouterr().err
    assert main(["convert", str(table), str(tmp_path / "edges.csv"), "--to", "edges"]) == 0
    messages = capsys.readouterr().err
    assert "missing: 1 synonym ('cha' of 'tea')" in messages
    assert "start with" not in messages


def test_iris_need_no_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "id,label,parents\nhttp://food.org/1,food,\n"
    table = write_file(tmp_path / "food.csv", rows)
    assert main(["convert", str(table), str(tmp_path / "food.ttl")]) == 0
    assert "start with" not in capsys.readouterr().err
