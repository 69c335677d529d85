from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from taxoexpan.cli.main import main


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    path.write_text("label\ncashew milk\nwhite tea\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--engine ray --together", "(option --together)"),
        ("--engine ray --report r.html", "(option --report)"),
        ("--workers 2", "add --engine ray (option --workers)"),
        ("--address ray://host:10001", "add --engine ray (option --address)"),
        ("--engine ray --address ray://host:10001", "Ray Data does not run through Ray Client"),
        ("-o s.parquet --json", "s.parquet is the name of a Parquet file"),
        ("-o s.parquet --table", "s.parquet is the name of a Parquet file"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    model_directory: Path, new: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    assert main(["suggest", str(model_directory), str(new), *options.split()]) == 2
    assert message in capsys.readouterr().err


def test_parquet_has_the_rows_of_the_csv_file(model_directory: Path, new: Path) -> None:
    table, typed = new.with_name("s.csv"), new.with_name("s.parquet")
    for path in (table, typed):
        assert main(["suggest", str(model_directory), str(new), "-o", str(path), "--evidence"]) == 0
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    typed_rows = pq.read_table(typed).to_pylist()
    assert [row["parent_id"] for row in rows] == [row["parent_id"] for row in typed_rows]
    assert [float(row["score"]) for row in rows] == [row["score"] for row in typed_rows]
    assert [row["path"].split(" > ") for row in rows] == [row["path"] for row in typed_rows]
    assert [row["why"] for row in rows] == [row["why"] for row in typed_rows]
    assert rows[0]["why"]
