"""Suggestions as tables: CSV, which a person may edit, and Parquet with typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taxoexpan.decisions.columns import TEXTS, Column, join_texts, read_cell
from taxoexpan.decisions.suggestion import COLUMNS, Suggestion, SuggestionKind, Verdict
from taxoexpan.errors import ConfigurationError, FormatError, TaxoExpanError
from taxoexpan.files import whole_file
from taxoexpan.formats.tables.formulas import protect_cells, unprotected
from taxoexpan.formats.tables.table import csv_text, guess_delimiter, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

DETAILS = ("definition", "synonyms", "curator")
"""Further columns of decisions: the query without its list of concepts, and who decided."""
PARENT_COLUMNS = ("parent_id", "parent_label", "path")
"""A row names the parent in at least one of these columns."""
MODEL_COLUMNS = ("score", "confidence", "kind")
"""Columns of a table that a model has written, in which the first row of a concept is its best."""
_MIN_SIMILARITY = 0.8
"""The similarity from which a column is a misspelled one, such as one wrong letter in five."""

WriteRows = Callable[[Sequence[Suggestion]], None]
"""A function that appends suggestions to a file."""


def suggestions_csv(
    suggestions: Iterable[Suggestion],
    details: bool = False,
    header: bool = True,
) -> str:
    """Return a CSV table; formulas get a leading apostrophe."""
    rows = (each.cells() | (_details(each) if details else {}) for each in suggestions)
    columns = (*COLUMNS, *DETAILS) if details else tuple(COLUMNS)
    return csv_text(columns, (protect_cells(row) for row in rows), header)


def suggestions_json(suggestions: Iterable[Suggestion]) -> list[dict[str, Any]]:
    """Return suggestions with the details of decisions for JSON."""
    return [
        each.as_json()
        | {
            "definition": each.query.definition,
            "synonyms": list(each.query.synonyms),
            "curator": each.curator,
        }
        for each in suggestions
    ]


def _details(suggestion: Suggestion) -> dict[str, str | int | float | None]:
    query = suggestion.query
    cells = (query.definition, join_texts(query.synonyms), suggestion.curator)
    return dict(zip(DETAILS, cells, strict=True))


def read_rows(path: Path) -> list[Suggestion]:
    """Read a CSV table of suggestions, which have their lines."""
    source = TextFile.load(path)
    # A spreadsheet may have saved the table with semicolons, and numbers with a comma.
    cells = read_cells(source, guess_delimiter(source, source.lines[0]))
    _, header = next(cells, (1, []))
    columns = _columns(path, header)
    rows = list(cells)
    suggestions = []
    named: dict[str, tuple[str, int]] = {}
    for line, row in rows:
        if len(row) != len(header):
            message = f"{len(row)} cells, but the header has {len(header)}"
            raise FormatError(path, message, fix="quote cells with commas", line=line)
        cell = {name: unprotected(row[column].strip()) for name, column in columns.items()}
        try:
            suggestion = _suggestion(cell)
        except TaxoExpanError as error:
            raise FormatError(path, error.problem, fix=error.fix, line=line) from None
        query = suggestion.query
        label, first = named.setdefault(query.id, (query.label, line))
        if query.id and label != query.label:
            message = f"the query_id {query.id!r} is already used by {label!r} on line {first}"
            raise FormatError(path, message, fix="change one of them", line=line)
        suggestions.append(replace(suggestion, line=line))
    if "decision" not in columns:
        _refuse_unread_decisions(path, header, [row for _, row in rows])
    suggestions = _with_shared_texts(path, _with_shared_ids(path, suggestions))
    if "rank" in columns:
        return suggestions
    suggestions = _without_open_rows(suggestions)
    if not columns.keys().isdisjoint(MODEL_COLUMNS):
        _refuse_open_rows(path, suggestions)
    return suggestions


def _columns(path: Path, header: Sequence[str]) -> dict[str, int]:
    """Return the positions of the columns that are read; refuse a header that is wrong."""
    columns = {name: header.index(name) for name in (*COLUMNS, *DETAILS) if name in header}
    if "query" not in columns or columns.keys().isdisjoint(PARENT_COLUMNS):
        missing = "query" if "query" not in columns else join_words(PARENT_COLUMNS, "or")
        expected = f"a table of suggestions has the columns {', '.join(COLUMNS)}"
        raise FormatError(path, f"no column {missing}", fix=expected, line=1)
    twice = next((name for name in columns if header.count(name) > 1), None)
    if twice is not None:
        message = f"the column {twice} occurs twice"
        raise FormatError(path, message, fix="remove or rename one of them", line=1)
    _refuse_misspelled(path, header, missing=[c for c in (*COLUMNS, *DETAILS) if c not in columns])
    return columns


def _with_shared_ids(path: Path, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Fill a blank query_id from other rows with the same label; refuse to choose among several."""
    ids: dict[str, dict[str, int | None]] = {}
    for suggestion in suggestions:
        query = suggestion.query
        if query.id:
            ids.setdefault(query.label, {}).setdefault(query.id, suggestion.line)
    joined = []
    for suggestion in suggestions:
        query = suggestion.query
        known = ids.get(query.label, {})
        if not query.id and len(known) > 1:
            lines = join_words([str(line) for line in known.values()])
            message = f"query_id is blank, and {query.label!r} has different ids on lines {lines}"
            raise FormatError(path, message, fix="fill it", line=suggestion.line)
        id = query.id or next(iter(known), "")
        joined.append(replace(suggestion, query=replace(query, id=id)))
    return joined


def _with_shared_texts(path: Path, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Give all rows of a concept its definition, and the synonyms of all rows."""
    defined: dict[tuple[str, str], Suggestion] = {}
    synonyms: dict[tuple[str, str], tuple[str, ...]] = {}
    for suggestion in suggestions:
        query = suggestion.query
        key = _concept_key(suggestion)
        known = defined.setdefault(key, suggestion) if query.definition else suggestion
        if known.query.definition != query.definition:
            message = f"{query.label!r} has another definition on line {known.line}"
            fix = "keep one of them, and clear the other cell"
            raise FormatError(path, message, fix=fix, line=suggestion.line)
        others = synonyms.get(key, ())
        synonyms[key] = (*others, *(name for name in query.synonyms if name not in others))
    shared = []
    for suggestion in suggestions:
        key = _concept_key(suggestion)
        definition = defined[key].query.definition if key in defined else ""
        query = replace(suggestion.query, synonyms=synonyms[key], definition=definition)
        shared.append(replace(suggestion, query=query))
    return shared


def _without_open_rows(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Leave out the open rows of every concept that has an accepted one."""
    accepted = {_concept_key(s) for s in suggestions if s.decision == Verdict.ACCEPTED}
    return [s for s in suggestions if not _is_open(s) or _concept_key(s) not in accepted]


def _refuse_open_rows(path: Path, suggestions: Sequence[Suggestion]) -> None:
    """Refuse several open rows of a concept, of which the best one is not known."""
    first: dict[tuple[str, str], Suggestion] = {}
    for suggestion in filter(_is_open, suggestions):
        known = first.setdefault(_concept_key(suggestion), suggestion)
        if known is not suggestion:
            message = f"{suggestion.query.label!r} has another row without a decision on line "
            message += f"{known.line}, and there is no column rank to say which one is the best"
            fix = "put the column rank back, or write accepted into the column decision of a row"
            raise FormatError(path, message, fix=fix, line=suggestion.line)


def _is_open(suggestion: Suggestion) -> bool:
    return suggestion.decision in (Verdict.OPEN, Verdict.UNDECIDED)


def _concept_key(suggestion: Suggestion) -> tuple[str, str]:
    """Return what the rows of one concept have in common."""
    return suggestion.query.id, suggestion.query.label


def _refuse_misspelled(path: Path, header: Sequence[str], missing: Sequence[str]) -> None:
    """Refuse a column whose name is nearly that of a missing one; users may add other columns."""
    for name in header:
        if name in COLUMNS or name in DETAILS:
            continue
        spelled = "_".join(name.casefold().split())
        close = get_close_matches(spelled, missing, 1, _MIN_SIMILARITY)
        if close:
            message = f"the column {name!r} is not read, and there is no column {close[0]}"
            fix = f"rename it to {close[0]}; a column of your own needs a less similar name"
            raise FormatError(path, message, fix=fix, line=1)


def _refuse_unread_decisions(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Refuse a column of decisions under another name."""
    for index, name in enumerate(header):
        words = {row[index].strip().casefold() for row in rows} - {""}
        is_read = name in (*COLUMNS, *DETAILS)
        if not is_read and words and words <= set(Verdict):
            message = f"the column {name!r} has decisions, and there is no column decision"
            fix = "rename it to decision, or add an empty column decision"
            raise FormatError(path, message, fix=fix, line=1)


def _suggestion(cell: dict[str, str]) -> Suggestion:
    """Build a suggestion from the cells of one row; blank cells have their defaults."""
    if not cell["query"]:
        raise TaxoExpanError("query is blank", fix="fill it, or remove the row")
    if not any(map(cell.get, PARENT_COLUMNS)):
        blank = join_words([name for name in PARENT_COLUMNS if name in cell], "or")
        fix = "or remove the row; a new root can only be added to the file by hand"
        raise TaxoExpanError("no parent is given", fix=f"fill {blank}, {fix}")
    values: dict[str, Any] = {"rank": 0, "parent_id": "", "parent_label": ""}
    values |= {name: _read(name, text) for name, text in cell.items() if text}
    if len(values.get("levels", ())) != len(values.get("path", ())):
        values.pop("levels", None)  # a label may contain the separator
    if values.get("moves"):
        values = {"kind": SuggestionKind.INSERT} | values
    query = Concept(
        values.get("query_id", ""),
        values["query"],
        values.get("synonyms", ()),
        values.get("definition", ""),
    )
    return replace(Suggestion.restored(query, values), curator=values.get("curator", ""))


def _read(name: str, text: str) -> Any:
    """Return the value of a cell; raise an error if it is invalid."""
    column = TEXTS if name == "synonyms" else COLUMNS.get(name)
    return text if column is None else read_cell(name, column, text)


def is_parquet(path: Path) -> bool:
    """Return whether a file with this name is written as Parquet."""
    return path.suffix.lower() == ".parquet"


def check_arrow(path: Path) -> None:
    """Refuse to write a Parquet file if Arrow is not installed."""
    if find_spec("pyarrow") is None:
        message = f"{path}: Parquet needs pyarrow; pip install 'taxoexpan[cluster]'"
        raise ConfigurationError(f"{message}, or choose a name that ends in .csv")


@contextmanager
def parquet_file(path: Path, force: bool = False) -> Iterator[WriteRows]:
    """Yield a function that appends suggestions to a file, which is complete at the end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def arrow_type(column: Column) -> Any:
        one = {int: pa.int32(), float: pa.float64()}.get(column.item, pa.string())
        return pa.list_(one) if column.type is tuple else one

    schema = pa.schema([(name, arrow_type(column)) for name, column in COLUMNS.items()])
    with whole_file(path, force) as file, pq.ParquetWriter(file, schema) as writer:

        def write(suggestions: Sequence[Suggestion]) -> None:
            if suggestions:
                rows = [each.as_json() for each in suggestions]
                writer.write_table(pa.Table.from_pylist(rows, schema))

        yield write
