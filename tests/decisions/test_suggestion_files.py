"""Suggestions in CSV files, which people edit, and in Parquet files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import Concept, Decider, Suggestion, TaxoExpan
from taxoexpan.errors import FormatError
from tests.support.builders import tree
from tests.support.command_line import run
from tests.support.decisions import (
    SuggestionKind,
    Suitability,
    Verdict,
    apply,
    read_suggestions,
    refusal,
    table,
    write_parquet,
    written,
)
from tests.support.expanded_files import write_file
from tests.support.strategies import names, quickly

FOOD = tree("food > fruit > apple", "food > milk")
COLUMNS = (
    *("query", "query_id", "rank", "parent_id", "parent_label", "path", "score", "confidence"),
    *("decision", "kind", "place", "moves", "why", "levels", "sure_from", "decided_by"),
)
"""The documented columns, which other programs may rely on."""
MILK = Concept("m", "milk")
FULL = Suggestion(
    query=Concept("n1", '=tea, "white" > new'),
    rank=2,
    parent=MILK,
    path=("food", "milk"),
    score=0.25,
    confidence=0.875,
    decision=Verdict.ACCEPTED,
    decided_by=Decider.PERSON,
    kind=SuggestionKind.INSERT,
    place=Suitability.NONE,
    moves=("a|b", "c"),
    why="it says tea\nand milk",
    levels=(1.0, 0.875),
    sure_from=0.83,
)


# ---- writing --------------------------------------------------------------------------------


def test_a_table_of_suggestions_is_plain_csv() -> None:
    path = ("food", "fruit, fresh")
    kiwi = Concept("k1", 'the "kiwi"')
    given = Suggestion(kiwi, 1, Concept("f", "fruit, fresh"), path, 1 / 3, 0.123456)
    assert written([given]) == (
        f"{','.join(COLUMNS)}\n"
        '"the ""kiwi""",k1,1,f,"fruit, fresh","food > fruit, fresh",0.333333,0.1235,,attach,,,,,,\n'
    )


def concepts() -> st.SearchStrategy[Concept]:
    return st.builds(Concept, names(breaks=True), names(breaks=True))


@given(
    query=concepts(),
    parents=st.lists(st.tuples(concepts(), st.floats(0, 1)), max_size=4),
    above=st.lists(names(without=">"), max_size=2),
    moves=st.lists(names(breaks=True), max_size=3),
    synonyms=st.lists(names(breaks=True), max_size=3),
    texts=st.tuples(names(breaks=True), names(breaks=True), names(breaks=True)),
)
@quickly
def test_suggestions_are_read_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    query: Concept,
    parents: list[tuple[Concept, float]],
    above: list[str],
    moves: list[str],
    synonyms: list[str],
    texts: tuple[str, str, str],
) -> None:
    why, definition, curator = texts
    query = Concept(query.id, query.label, tuple(synonyms), definition)
    given = [
        Suggestion(
            query,
            rank,
            parent,
            (*above, "here"),
            float(f"{score:.6g}"),
            round(score, 4),
            kind=SuggestionKind.INSERT,
            moves=tuple(moves),
            why=why,
            curator=curator,
        )
        for rank, (parent, score) in enumerate(parents, start=1)
    ]
    path = tmp_path_factory.mktemp("table") / "suggestions.csv"
    assert read_suggestions(write_file(path, written(given, details=True))) == given


def test_every_column_is_read_back(tmp_path: Path) -> None:
    plain = Suggestion(Concept("n2", "cashew\rmilk"), 1, MILK, ("milk",), 1e-7)
    path = write_file(tmp_path / "s.csv", written([FULL, plain]))
    assert read_suggestions(path) == [FULL, plain]


@pytest.mark.parametrize("texts", [("a", "b"), ("a|b", "c"), ("[x", "d"), (" e",), ("f",), ()])
def test_the_texts_of_one_cell_are_kept_apart(tmp_path: Path, texts: tuple[str, ...]) -> None:
    given = Suggestion(Concept("k", "kiwi", texts), 1, MILK, moves=texts)
    (read,) = read_suggestions(write_file(tmp_path / "s.csv", written([given], details=True)))
    assert read.moves == texts
    assert read.query.synonyms == texts


def test_definitions_synonyms_and_curators_are_written_on_request() -> None:
    query = Concept("n1", "oat milk", ("oat drink",), "=milk, made\nof oats")
    given = [Suggestion(query, 1, MILK, ("milk",), 0.5, curator="=Ada")]
    header, *_ = written(given).splitlines()
    assert tuple(header.split(",")) == COLUMNS
    detailed = written(given, details=True)
    header, *_ = detailed.splitlines()
    assert tuple(header.split(",")) == (*COLUMNS, "definition", "synonyms", "curator")
    for formula in ("=milk", "=Ada"):
        assert f"'{formula}" in detailed  # a spreadsheet must not compute it


# ---- reading what a person has edited -------------------------------------------------------


def test_columns_may_be_moved_and_removed_and_cells_may_be_blank(tmp_path: Path) -> None:
    rows = table("parent_id,comment,query,score", "fruit,yes,kiwi,", "food,,fig,0.1")
    placed = apply(tmp_path, FOOD, rows).placed
    assert placed == {"kiwi": ["fruit"], "fig": ["food"]}


def test_a_table_with_only_a_header_adds_nothing(tmp_path: Path) -> None:
    assert apply(tmp_path, FOOD, table(",".join(COLUMNS))).new == FOOD


@pytest.mark.parametrize(
    "text", ["query,score\n", "parent_id,score\n", ",,,\n", '""\n\n', "a > b\n"]
)
def test_a_table_without_queries_or_parents_is_refused(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "s.csv", text)
    with pytest.raises(FormatError) as refused:
        read_suggestions(path)
    assert (refused.value.path, refused.value.line) == (path, 1)
    assert "no column" in refused.value.problem
    assert "query, query_id, rank" in refused.value.fix


GOOD = {"query": "fig", "query_id": "fig", "rank": "1", "parent_id": "fruit"}


@pytest.mark.parametrize(
    ("columns", "row", "word"),
    [
        ("query,rank,parent_id", "kiwi,first,fruit", "rank"),
        ("query,rank,parent_id", "kiwi,1.5,fruit", "rank"),
        ("query,rank,parent_id", "kiwi,-3,fruit", "rank"),
        ("query,parent_id,score", "kiwi,fruit,high", "score"),
        ("query,parent_id,score", "kiwi,fruit,nan", "score"),
        ("query,parent_id,score", "kiwi,fruit,7", "score"),
        ("query,parent_id,confidence", "kiwi,fruit,1.25", "confidence"),
        ("query,parent_id,kind", "kiwi,fruit,atach", "kind"),
        ("query,parent_id,decision", "kiwi,fruit,yes", "decision"),
        ("query,parent_id,moves", 'kiwi,fruit,"[1"', "moves"),
        ("query,parent_id,moves", "kiwi,fruit,[1]", "moves"),
        ("query,parent_id,levels", "kiwi,fruit,1 > 2", "levels"),
        ("query,parent_id,levels", "kiwi,fruit,much", "levels"),
        ("query,parent_id,levels", "kiwi,fruit,0.5 > ", "levels"),
        ("query,parent_id,score", " ,fruit,1", "query"),
        ("query,parent_id,score", "kiwi, ,1", "parent"),
        ("query,parent_id,score", "kiwi,fruit", "2 cells"),
        ("query,parent_id,score", "kiwi, green,fruit,1", "4 cells"),
        ("query,query_id,parent_id", "mango,fig,fruit", "query_id"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(
    tmp_path: Path, columns: str, row: str, word: str
) -> None:
    good = ",".join(GOOD.get(column, "") for column in columns.split(","))
    path = write_file(tmp_path / "s.csv", table(columns, good, row))
    with pytest.raises(FormatError) as refused:
        read_suggestions(path)
    assert (refused.value.path, refused.value.line) == (path, 3)
    assert word in refused.value.problem
    assert refused.value.fix


def test_a_wrong_row_leaves_the_taxonomy_alone(tmp_path: Path) -> None:
    rows = table("query,parent_id,decision", "kiwi,fruit,", "fig,fruit,maybe")
    message = refusal(tmp_path, FOOD, rows)
    assert "decisions.csv, line 3" in message
    assert "decision" in message
    assert "accepted, undecided, rejected" in message


def test_a_table_that_a_spreadsheet_has_saved_is_read(tmp_path: Path) -> None:
    """With semicolons, and a comma in numbers."""
    rows = table("query;query_id;rank;parent_id;score", "oat milk;7;2;milk;0,25")
    (read,) = read_suggestions(write_file(tmp_path / "s.csv", rows))
    assert (read.query, read.rank, read.score) == (Concept("7", "oat milk"), 2, 0.25)
    assert apply(tmp_path, FOOD, rows).placed == {"oat milk": ["milk"]}


@pytest.mark.parametrize("row", ["fig,2.0,f", 'fig,"2,00",f', "fig,2,f"])
def test_a_whole_number_may_have_decimals_that_are_zero(tmp_path: Path, row: str) -> None:
    path = write_file(tmp_path / "s.csv", table("query,rank,parent_id", row))
    assert [each.rank for each in read_suggestions(path)] == [2]


def test_a_cell_of_ids_implies_an_insert_and_may_have_spaces(tmp_path: Path) -> None:
    milks = tree("food > oat milk", "food > goat milk", "food > rye")
    rows = table(
        "query,parent_id,moves,kind", "milk,food, oat milk | goat milk ,", "bun,food,rye,attach"
    )
    assert apply(tmp_path, milks, rows, "--allow-moves").moved == {
        "oat milk": ["milk"],
        "goat milk": ["milk"],
    }


@pytest.mark.parametrize(
    ("path", "levels", "read"),
    [
        ("food > fruit", '"1>0,5"', (1.0, 0.5)),
        ("a > b > c", "1 > 0.5", ()),  # a label has the separator, so it is unknown which is which
        ("food > fruit", "", ()),
    ],
)
def test_branches_belong_to_the_labels_of_the_path(
    tmp_path: Path, path: str, levels: str, read: tuple[float, ...]
) -> None:
    rows = table("query,path,levels", f"kiwi,{path},{levels}")
    (suggestion,) = read_suggestions(write_file(tmp_path / "s.csv", rows))
    assert suggestion.levels == read


# ---- Parquet --------------------------------------------------------------------------------


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\ncashew milk\n=white tea\n")


def test_blocks_become_one_parquet_file_with_typed_columns(tmp_path: Path) -> None:
    plain = Suggestion(Concept("n2", "oat milk"), 1, MILK, ("milk",), 0.123456789)
    path = tmp_path / "suggestions.parquet"
    write_parquet(path, [[FULL], [plain], []])
    read = pq.read_table(path)
    types = {name: read.schema.field(name).type for name in read.column_names}
    assert tuple(types) == COLUMNS
    assert types["query"] == pa.string()
    assert types["rank"] == pa.int32()
    assert types["score"] == types["confidence"] == types["sure_from"] == pa.float64()
    assert types["path"] == types["moves"] == pa.list_(pa.string())
    assert types["levels"] == pa.list_(pa.float64())
    first, second = read.to_pylist()
    assert first["query"] == '=tea, "white" > new'  # no spreadsheet reads it
    assert (first["path"], first["moves"]) == (["food", "milk"], ["a|b", "c"])
    assert first["levels"] == [1.0, 0.875]
    assert (first["decision"], first["kind"], first["place"]) == ("accepted", "insert", "none")
    assert (second["confidence"], second["levels"]) == (None, [])
    assert second["score"] == pytest.approx(plain.score, rel=1e-5)


def test_an_error_between_two_blocks_leaves_no_parquet_file(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggest = TaxoExpan.suggest_block
    blocks: list[Any] = []

    def fail_later(model: TaxoExpan, *given: Any) -> Any:
        blocks.append(suggest(model, *given))
        if len(blocks) > 1:
            raise RuntimeError("an error between two blocks")
        return blocks[-1]

    monkeypatch.setattr(TaxoExpan, "suggest_block", fail_later)
    monkeypatch.setattr("taxoexpan.explain.explanation.QUERY_BLOCK", 1)
    new = write_file(tmp_path / "new.txt", "cashew milk\nwhite tea\n")
    with pytest.raises(RuntimeError, match="between two blocks"):
        run("suggest", model_directory, new, "-o", tmp_path / "s.parquet")
    assert list(tmp_path.iterdir()) == [new]


def test_parquet_without_arrow_is_refused_before_any_work(
    model_directory: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    messages = run("suggest", model_directory, new, "-o", new.with_name("s.PARQUET"), status=2).err
    assert "pyarrow" in messages
    assert "pip install" in messages
    assert list(new.parent.iterdir()) == [new]
    assert run("suggest", model_directory, new, "-o", new.with_name("s.csv")).out == ""
