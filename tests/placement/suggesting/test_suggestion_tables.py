from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.placement.suggesting import suggestion_tables
from taxoexpan.placement.suggesting.suggestion_tables import (
    check_arrow,
    is_parquet,
    parquet_file,
    suggestions_csv,
)
from taxoexpan.placement.suggesting.suggestions import COLUMNS, Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import write_file
from tests.support.strategies import names, quickly
from tests.support.suggestion_tables import read_suggestions

HEADER = "query,query_id,rank,parent_id,parent_label,path,score\n"
"""A table of suggestions may lack the other columns: an older version or a person wrote it."""


def suggestion(query: str, rank: int, parent: str, score: float) -> Suggestion:
    return Suggestion(Concept(query, query), rank, Concept(parent, parent), (parent,), score)


def refusal(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read_suggestions(path)
    return str(caught.value)


def concepts() -> st.SearchStrategy[Concept]:
    return st.builds(Concept, names(breaks=True), names(breaks=True))


@given(
    query=concepts(),
    parents=st.lists(st.tuples(concepts(), st.floats(0, 1)), max_size=4),
    above=st.lists(names(without=">"), max_size=2),
)
@quickly
def test_suggestions_are_read_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    query: Concept,
    parents: list[tuple[Concept, float]],
    above: list[str],
) -> None:
    given = [
        Suggestion(query, rank, parent, (*above, "here"), float(f"{score:.6g}"))
        for rank, (parent, score) in enumerate(parents, start=1)
    ]
    path = tmp_path_factory.mktemp("table") / "suggestions.csv"
    assert read_suggestions(write_file(path, suggestions_csv(given))) == given


def test_a_table_of_suggestions_is_plain_csv() -> None:
    path = ("food", "fruit, fresh")
    given = Suggestion(Concept("k1", 'the "kiwi"'), 1, Concept("f", "fruit, fresh"), path, 1 / 3)
    assert suggestions_csv([given]) == (
        HEADER.replace("score", "score,confidence,decision,kind,place,moves,why,levels,sure_from")
        + '"the ""kiwi""",k1,1,f,"fruit, fresh","food > fruit, fresh",0.333333,,,attach,,,,,\n'
    )


def test_columns_may_be_moved_and_removed(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", "parent_id,query_id,comment,query\nf,k,yes,kiwi\n")
    (found,) = read_suggestions(path)
    assert (found.query, found.parent.id) == (Concept("k", "kiwi"), "f")
    assert (found.rank, found.score) == (0, 1.0)


def test_a_table_with_only_a_header_has_no_suggestions(tmp_path: Path) -> None:
    assert read_suggestions(write_file(tmp_path / "s.csv", HEADER)) == []


@pytest.mark.parametrize(
    "text", ["query,score\n", "parent_id,score\n", ",,,\n", '""\n\n', "a > b\n"]
)
def test_a_table_without_queries_or_parents_is_refused(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "s.csv", text)
    assert refusal(path).startswith(f"{path}, line 1: no column")
    assert "query, query_id, rank" in refusal(path)


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        ("kiwi,k,first,f,,,1", "rank"),
        ("kiwi,k,1.5,f,,,1", "rank"),
        ("kiwi,k,-3,f,,,1", "rank"),
        ("kiwi,k,1,f,,,high", "score"),
        ("kiwi,k,1,f,,,nan", "score"),
        ("kiwi,k,1,f,,,7", "score"),
        (" ,k,1,f,,,1", "query is blank"),
        ("kiwi,k,1, ,,,1", "no parent"),
        ("kiwi,k,1,f", "4 cells"),
        ("kiwi, green,k,1,f,,,1", "8 cells"),
        ("mango,fig,1,f,,,1", "the query_id 'fig' is already used by 'fig' on line 2"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, cell: str) -> None:
    path = write_file(tmp_path / "s.csv", f"{HEADER}fig,fig,1,f,fruit,fruit,0.5\n{row}\n")
    assert refusal(path).startswith(f"{path}, line 3: {cell}")


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("kind", "atach"),
        ("decision", "yes"),
        ("confidence", "1.25"),
        ("moves", '"[1"'),
        ("moves", "[1]"),
    ],
)
def test_a_bad_cell_is_refused_with_its_column(tmp_path: Path, column: str, cell: str) -> None:
    path = write_file(tmp_path / "s.csv", f"query,parent_id,{column}\nkiwi,f,{cell}\n")
    assert refusal(path).startswith(f"{path}, line 2: {column} is ")


@pytest.mark.parametrize("moves", [("a", "b"), ("a|b", "c"), ("[x", "d"), ("e",), ()])
def test_ids_of_moves_are_kept_apart(tmp_path: Path, moves: tuple[str, ...]) -> None:
    given = replace(suggestion("kiwi", 1, "f", 0.6), moves=moves)
    path = write_file(tmp_path / "s.csv", suggestions_csv([given]))
    assert read_suggestions(path)[0].moves == moves


def test_moves_may_have_spaces_and_imply_an_insert(tmp_path: Path) -> None:
    rows = "kiwi,f, a | b |,\nfig,f,a,attach\nplum,f,,\n"
    path = write_file(tmp_path / "s.csv", "query,parent_id,moves,kind\n" + rows)
    read = [(s.moves, s.kind) for s in read_suggestions(path)]
    assert read == [(("a", "b"), "insert"), (("a",), "attach"), ((), "attach")]


def test_a_table_saved_by_a_spreadsheet_with_semicolons_is_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query;query_id;rank;parent_id;score\noat milk;7;2;1;0,25\n", encoding="utf-8")
    (suggestion,) = read_suggestions(path)
    assert (suggestion.query.label, suggestion.rank, suggestion.score) == ("oat milk", 2, 0.25)


def test_confidence_and_moves_are_kept_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.csv"
    moved = replace(suggestion("kiwi", 1, "f", 0.5), confidence=0.25, moves=("a", "b"))
    given = [moved, suggestion("fig", 1, "f", 1)]
    path.write_text(suggestions_csv(given), encoding="utf-8")
    assert [s.moves for s in read_suggestions(path)] == [("a", "b"), ()]
    assert [s.confidence for s in read_suggestions(path)] == [0.25, None]


@pytest.mark.parametrize("synonyms", [("oat drink", "=oats"), ("a|b", "[c]"), ()])
def test_definitions_synonyms_and_curators_are_written_on_request(
    tmp_path: Path, synonyms: tuple[str, ...]
) -> None:
    query = Concept("n1", "oat milk", synonyms, "=milk, made\nof oats")
    first = Suggestion(query, 1, Concept("m", "milk"), ("food", "milk"), 0.5)
    written = [first, replace(first, rank=2, curator="=Ada")]
    text = suggestions_csv(written, details=True)
    assert read_suggestions(write_file(tmp_path / "s.csv", text)) == written
    assert "'=Ada" in text
    assert "definition" not in suggestions_csv(written)
    assert "Ada" not in suggestions_csv(written)


MILK, TEA = Concept("m", "milk"), Concept("t", "tea")
SUGGESTIONS = [
    Suggestion(
        Concept("n1", "oat milk"),
        1,
        MILK,
        ("food", "milk"),
        0.123456789,
        0.87654321,
        levels=(1.0, 0.875),
    ),
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
    assert tuple(table.column_names) == tuple(COLUMNS)
    assert table.schema.field("rank").type == pa.int32()
    assert table.schema.field("score").type == pa.float64()
    first, second = table.to_pylist()
    assert table.schema.field("levels").type == pa.list_(pa.float64())
    texts = {"path": "food > milk", "moves": "", "levels": "1 > 0.875"}
    assert first | texts == SUGGESTIONS[0].as_dict()
    assert first["levels"] == [1.0, 0.875]
    assert first["path"] == ["food", "milk"]
    assert second["query"] == '=tea, "white" > new'
    assert second["confidence"] is None
    assert second["moves"] == ["a|b", "c"]


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with parquet_file(tmp_path / "failed.parquet") as write:
            write(SUGGESTIONS)
            raise RuntimeError("an error between two blocks")

    with pytest.raises(RuntimeError, match="between two blocks"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_arrow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("suggestions.PARQUET")
    assert is_parquet(path)
    assert not is_parquet(Path("suggestions.csv"))
    check_arrow(path)
    monkeypatch.setattr(suggestion_tables, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="Parquet needs pyarrow; pip install"):
        check_arrow(path)


def test_levels_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", suggestions_csv(SUGGESTIONS))
    assert [each.levels for each in read_suggestions(path)] == [(1.0, 0.875), ()]
    table = "query,parent_id,levels\nkiwi,f,1 > 0,5\n".replace("0,5", '"0,5"')
    table = 'query,path,levels\nkiwi,food > fruit,"1>0,5"\nfig,a > b > c,1 > 0.5\n'
    found, other = read_suggestions(write_file(tmp_path / "comma.csv", table))
    assert found.levels == (1.0, 0.5)
    assert other.levels == ()  # a label has the separator, so it is unknown which is which
    for wrong in ("1 > 2", "much", "0.5 > "):
        text = f"query,parent_id,levels\nkiwi,f,{wrong}\n"
        expected = "it must be numbers from 0 to 1 with > between them"
        assert expected in refusal(write_file(tmp_path / "wrong.csv", text))


def test_a_carriage_return_in_a_text_is_read_back(tmp_path: Path) -> None:
    given = [suggestion("cashew\rmilk", 1, "milk", 0.5)]
    assert read_suggestions(write_file(tmp_path / "s.csv", suggestions_csv(given))) == given
