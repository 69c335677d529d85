from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.placement.suggesting import suggestion_parquet as module
from taxoexpan.placement.suggesting.suggestion_parquet import check_arrow, is_parquet, parquet_file
from taxoexpan.placement.suggesting.suggestions import (
    COLUMNS,
    Place,
    Suggestion,
    SuggestionKind,
)
from taxoexpan.taxonomy import Concept

MILK, TEA = Concept("m", "milk"), Concept("t", "tea")
SUGGESTIONS = [
    Suggestion(Concept("n1", "oat milk"), 1, MILK, ("food", "milk"), 0.123456789, 0.87654321),
    Suggestion(
        Concept("n2", '=tea, "white" > new'),
        1,
        TEA,
        ("food", "tea"),
        1e-7,
        None,
        SuggestionKind.INSERT,
        Place.NONE,
        ("a|b", "c"),
        "it says tea\nand milk",
    ),
]


def test_blocks_become_one_parquet_file_with_types(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.parquet"
    with parquet_file(path) as write:
        for suggestion in SUGGESTIONS:
            write([suggestion])
        write([])
    table = pq.read_table(path)
    assert tuple(table.column_names) == COLUMNS
    assert table.schema.field("rank").type == pa.int32()
    assert table.schema.field("score").type == pa.float64()
    first, second = table.to_pylist()
    assert first | {"path": "food > milk", "moves": ""} == SUGGESTIONS[0].as_dict()
    assert first["path"] == ["food", "milk"]
    assert second["query"] == '=tea, "white" > new'
    assert second["confidence"] is None
    assert second["moves"] == ["a|b", "c"]


def test_a_file_without_suggestions_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    with parquet_file(path):
        pass
    assert tuple(pq.read_table(path).column_names) == COLUMNS


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with parquet_file(tmp_path / "failed.parquet") as write:
            write(SUGGESTIONS)
            raise RuntimeError("an error between two blocks")

    with pytest.raises(RuntimeError, match="between two blocks"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.parquet"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(FormatError, match="already exists"), parquet_file(path):
        pass
    assert path.read_text(encoding="utf-8") == "old"


def test_parquet_without_arrow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("suggestions.PARQUET")
    assert is_parquet(path)
    assert not is_parquet(Path("suggestions.csv"))
    check_arrow(path)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="Parquet needs pyarrow; pip install"):
        check_arrow(path)
