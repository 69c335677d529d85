"""Files of suggestions that are written block by block: CSV, or Parquet with typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from taxoexpan.errors import ConfigurationError
from taxoexpan.files import whole_file
from taxoexpan.placement.suggestions import COLUMNS, Suggestion, suggestions_csv

Write = Callable[[Sequence[Suggestion]], None]
"""A function that appends suggestions to a file."""

PARQUET_SUFFIX = ".parquet"


def check_suggestion_file(path: Path) -> None:
    """Refuse a Parquet file if Arrow, which writes it, is not installed."""
    if is_parquet(path) and find_spec("pyarrow") is None:
        message = f"{path}: Parquet needs pyarrow; pip install 'taxoexpan[cluster]'"
        raise ConfigurationError(f"{message}, or choose a name that ends in .csv")


def is_parquet(path: Path) -> bool:
    """Return whether a file of this name is written as Parquet."""
    return path.suffix.lower() == PARQUET_SUFFIX


@contextmanager
def suggestion_file(path: Path, force: bool = False) -> Iterator[Write]:
    """Yield a function that appends suggestions; the file appears at the end, as a whole."""
    writer = _parquet_writer if is_parquet(path) else _csv_writer
    with whole_file(path, force) as file, writer(file) as write:
        yield write


def write_suggestions(path: Path, suggestions: Sequence[Suggestion], force: bool = False) -> None:
    """Write all suggestions to a file at once."""
    with suggestion_file(path, force) as write:
        write(suggestions)


@contextmanager
def _csv_writer(file: BinaryIO) -> Iterator[Write]:
    def write(suggestions: Sequence[Suggestion]) -> None:
        file.write(suggestions_csv(suggestions, header=False).encode())

    file.write(suggestions_csv([]).encode())
    yield write


@contextmanager
def _parquet_writer(file: BinaryIO) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = suggestion_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:

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
