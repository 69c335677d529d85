from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from expanded_files import write_file
from hypothesis import given
from hypothesis import strategies as st
from strategies import names, quickly
from suggestion_tables import read_suggestions

from taxoexpan.errors import FormatError
from taxoexpan.placement.suggesting.suggestion_table import suggestions_csv
from taxoexpan.placement.suggesting.suggestions import COLUMNS, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
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
        HEADER.replace("score", "score,confidence,decision,kind,place,moves,why")
        + '"the ""kiwi""",k1,1,f,"fruit, fresh","food > fruit, fresh",0.333333,,,attach,,,\n'
    )


def test_columns_may_be_moved_and_removed(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", "parent_id,query_id,comment,query\nf,k,yes,kiwi\n")
    (found,) = read_suggestions(path)
    assert (found.query, found.parent.id) == (Concept("k", "kiwi"), "f")
    assert (found.rank, found.score) == (0, 1.0)


def test_a_table_with_only_a_header_has_no_suggestions(tmp_path: Path) -> None:
    assert read_suggestions(write_file(tmp_path / "s.csv", HEADER)) == []


@pytest.mark.parametrize("missing", ["query", "parent_id"])
def test_a_missing_required_column_is_named(tmp_path: Path, missing: str) -> None:
    header = ",".join(name for name in COLUMNS if name != missing)
    path = write_file(tmp_path / "s.csv", header + "\n")
    columns = ", ".join(COLUMNS)
    message = f"no column {missing}; a table of suggestions has the columns {columns}"
    assert refusal(path) == f"{path}, line 1: {message}"


@pytest.mark.parametrize("text", [",,,\n", '""\n\n', "a > b\n"])
def test_another_table_is_refused(tmp_path: Path, text: str) -> None:
    assert "line 1: no column query" in refusal(write_file(tmp_path / "s.csv", text))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "kiwi,k,first,f,,,1",
            "rank must be a whole number, and score and confidence must be",
        ),
        (
            "kiwi,k,1.5,f,,,1",
            "rank must be a whole number, and score and confidence must be",
        ),
        (
            "kiwi,k,1,f,,,high",
            "rank must be a whole number, and score and confidence must be",
        ),
        (
            "kiwi,k,1,f,,,nan",
            "rank must not be negative, and score and confidence must be",
        ),
        (
            "kiwi,k,1,f,,,7",
            "rank must not be negative, and score and confidence must be",
        ),
        (
            "kiwi,k,-3,f,,,1",
            "rank must not be negative, and score and confidence must be",
        ),
        (" ,k,1,f,,,1", "query is blank; fill it, or remove the row"),
        ("kiwi,k,1, ,,,1", "parent_id is blank; fill it, or remove the row"),
        ("kiwi,k,1,f", "4 cells, but the header has 7; quote cells with commas"),
        ("kiwi, green,k,1,f,,,1", "8 cells, but the header has 7; quote cells with commas"),
        ("mango,fig,1,f,,,1", "the query_id 'fig' is already used by 'fig' on line 2; change"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = write_file(tmp_path / "s.csv", f"{HEADER}fig,fig,1,f,fruit,fruit,0.5\n{row}\n")
    assert refusal(path).startswith(f"{path}, line 3: {message}")


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
    bad = write_file(tmp_path / "bad.csv", 'query,parent_id,moves\nkiwi,f,"[1"\n')
    assert "line 2: moves is '[1'; it must be ids with | between them" in refusal(bad)


def test_a_table_saved_by_a_spreadsheet_with_semicolons_is_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query;query_id;rank;parent_id;score\noat milk;7;2;1;0,25\n", encoding="utf-8")
    (suggestion,) = read_suggestions(path)
    assert (suggestion.query.label, suggestion.rank, suggestion.score) == ("oat milk", 2, 0.25)


def test_moves_of_unknown_concepts_are_refused_with_their_line(tmp_path: Path) -> None:
    given = [
        replace(suggestion("kiwi", 1, "f", 0.5), kind=SuggestionKind.INSERT, moves=("a",)),
        replace(suggestion("fig", 1, "f", 0.5), kind=SuggestionKind.ATTACH, moves=("gone",)),
        replace(suggestion("plum", 1, "f", 0.5), kind=SuggestionKind.INSERT, moves=("a", "gone")),
    ]
    path = write_file(tmp_path / "s.csv", suggestions_csv(given))
    assert len(read_suggestions(path)) == 3
    with pytest.raises(FormatError) as caught:
        read_suggestions(path, FOOD)
    assert str(caught.value) == (
        f"{path}, line 4: moves contains 'gone', but no concept of the taxonomy has that id; "
        "remove it from the cell, put | between ids, or suggest again"
    )
    path = write_file(tmp_path / "s.csv", suggestions_csv(given[:2]))
    assert len(read_suggestions(path, FOOD)) == 2


def test_confidence_and_moves_are_kept_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.csv"
    moved = replace(suggestion("kiwi", 1, "f", 0.5), confidence=0.25, moves=("a", "b"))
    given = [moved, suggestion("fig", 1, "f", 1)]
    path.write_text(suggestions_csv(given), encoding="utf-8")
    assert [s.moves for s in read_suggestions(path)] == [("a", "b"), ()]
    assert [s.confidence for s in read_suggestions(path)] == [0.25, None]
    path.write_text(path.read_text().replace("0.25", "1.25"), encoding="utf-8")
    with pytest.raises(FormatError, match="confidence must be from 0 to 1"):
        read_suggestions(path)


@pytest.mark.parametrize("synonyms", [("oat drink", "=oats"), ("a|b", "[c]"), ()])
def test_definitions_and_synonyms_are_written_on_request(
    tmp_path: Path, synonyms: tuple[str, ...]
) -> None:
    query = Concept("n1", "oat milk", synonyms, "=milk, made\nof oats")
    written = [Suggestion(query, 1, Concept("m", "milk"), ("food", "milk"), 0.5)]
    text = suggestions_csv(written, keep_formulas=False, details=True)
    assert read_suggestions(write_file(tmp_path / "s.csv", text)) == written
    assert "definition" not in suggestions_csv(written)
