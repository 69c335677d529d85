"""Suggestions as a Parquet file with typed columns, written block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.files import whole_file
from taxoexpan.placement.suggesting.suggestions import COLUMNS, Suggestion

WriteRows = Callable[[Sequence[Suggestion]], None]
"""A function that appends suggestions to a file."""


def is_parquet(path: Path) -> bool:
    """Return whether a file of this name is written as Parquet."""
    return path.suffix.lower() == ".parquet"


def check_arrow(path: Path) -> None:
    """Refuse to write a Parquet file if Arrow is not installed."""
    if find_spec("pyarrow") is None:
        message = f"{path}: Parquet needs pyarrow; pip install 'taxoexpan[cluster]'"
        raise ConfigurationError(f"{message}, or choose a name that ends in .csv")


@contextmanager
def parquet_file(path: Path, force: bool = False, checked: bool = False) -> Iterator[WriteRows]:
    """Yield a function that appends suggestions; the file appears at the end, as a whole.

    `checked` is as in `whole_file`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = suggestion_schema()
    with whole_file(path, force, checked) as file, pq.ParquetWriter(file, schema) as writer:

        def write(suggestions: Sequence[Suggestion]) -> None:
            if suggestions:
                rows = [_typed(each) for each in suggestions]
                writer.write_table(pa.Table.from_pylist(rows, schema))

        yield write


def suggestion_schema() -> Any:
    """Return the Arrow schema of a table of suggestions: the columns of the CSV file, with types.

    `path` and `moves` are lists, and an unknown confidence is null.
    """
    import pyarrow as pa

    types = {
        "rank": pa.int32(),
        "path": pa.list_(pa.string()),
        "score": pa.float64(),
        "confidence": pa.float64(),
        "moves": pa.list_(pa.string()),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])


def _typed(suggestion: Suggestion) -> dict[str, object]:
    """Return the row of a suggestion, with lists as lists."""
    return suggestion.as_dict() | {"path": suggestion.path, "moves": suggestion.moves}
