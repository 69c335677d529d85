from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from expanded_files import write_file
from hypothesis import given
from hypothesis import strategies as st
from strategies import names, quickly

from taxoexpan.errors import ConfigurationError, FormatError, TaxonomyError
from taxoexpan.placement.selection import choose, keep_new, refuse_other_labels, with_query_ids
from taxoexpan.placement.suggestions import (
    COLUMNS,
    MERGE,
    Suggestion,
    read_suggestions,
    suggestions_csv,
)
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
HEADER = "query,query_id,rank,parent_id,parent_label,path,score\n"
"""A table of suggestions may lack the last column: it is of an earlier version, or a person's."""


def suggestion(query: str, rank: int, parent: str, score: float) -> Suggestion:
    return Suggestion(Concept(query, query), rank, Concept(parent, parent), (parent,), score)


def refusal(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read_suggestions(path)
    return str(caught.value)


TWO = [
    suggestion("kiwi", 1, "f", 0.6),
    suggestion("kiwi", 2, "a", 0.3),
    suggestion("fig", 1, "a", 0.2),
    suggestion("fig", 2, "f", 0.1),
]


def concepts() -> st.SearchStrategy[Concept]:
    return st.builds(Concept, names(breaks=True), names(breaks=True))


@given(
    query=concepts(),
    parents=st.lists(st.tuples(concepts(), st.floats(0, 1)), max_size=4),
    above=st.lists(names(without=">"), max_size=2),
)
@quickly
def test_suggestions_survive_their_table(
    tmp_path_factory: pytest.TempPathFactory,
    query: Concept,
    parents: list[tuple[Concept, float]],
    above: list[str],
) -> None:
    told = [
        Suggestion(query, rank, parent, (*above, "here"), float(f"{score:.6g}"))
        for rank, (parent, score) in enumerate(parents, start=1)
    ]
    path = tmp_path_factory.mktemp("table") / "suggestions.csv"
    assert read_suggestions(write_file(path, suggestions_csv(told))) == told


def test_a_table_of_suggestions_can_be_read_by_a_person() -> None:
    path = ("food", "fruit, fresh")
    told = Suggestion(Concept("k1", 'the "kiwi"'), 1, Concept("f", "fruit, fresh"), path, 1 / 3)
    assert suggestions_csv([told]) == (
        HEADER.replace("score", "score,confidence,kind,place,moves,why")
        + '"the ""kiwi""",k1,1,f,"fruit, fresh","food > fruit, fresh",0.333333,,attach,,,\n'
    )


def test_columns_may_be_moved_and_removed(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", "parent_id,query_id,comment,query\nf,k,yes,kiwi\n")
    (found,) = read_suggestions(path)
    assert (found.query, found.parent.id) == (Concept("k", "kiwi"), "f")
    assert (found.rank, found.score) == (0, 1.0)


def test_a_table_pruned_to_its_header_suggests_nothing(tmp_path: Path) -> None:
    assert read_suggestions(write_file(tmp_path / "s.csv", HEADER)) == []


@pytest.mark.parametrize("missing", ["query", "parent_id"])
def test_a_needed_column_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    header = ",".join(name for name in COLUMNS if name != missing)
    path = write_file(tmp_path / "s.csv", header + "\n")
    assert refusal(path) == (
        f"{path}, line 1: no column {missing}; a table of suggestions has {', '.join(COLUMNS)}"
    )


@pytest.mark.parametrize("text", [",,,\n", '""\n\n', "a > b\n"])
def test_what_is_no_table_of_suggestions_is_refused(tmp_path: Path, text: str) -> None:
    assert "line 1: no column query" in refusal(write_file(tmp_path / "s.csv", text))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "kiwi,k,first,f,,,1",
            "rank must be a whole number, score and confidence numbers",
        ),
        (
            "kiwi,k,1.5,f,,,1",
            "rank must be a whole number, score and confidence numbers",
        ),
        (
            "kiwi,k,1,f,,,high",
            "rank must be a whole number, score and confidence numbers",
        ),
        (
            "kiwi,k,1,f,,,nan",
            "rank must not be negative, and score and confidence from 0",
        ),
        (
            "kiwi,k,1,f,,,7",
            "rank must not be negative, and score and confidence from 0",
        ),
        (
            "kiwi,k,-3,f,,,1",
            "rank must not be negative, and score and confidence from 0",
        ),
        (" ,k,1,f,,,1", "query is blank; fill it, or remove the row"),
        ("kiwi,k,1, ,,,1", "parent_id is blank; fill it, or remove the row"),
        ("kiwi,k,1,f", "4 cells, but the header has 7; quote cells with commas"),
        ("kiwi, green,k,1,f,,,1", "8 cells, but the header has 7; quote cells with commas"),
        ("mango,fig,1,f,,,1", "the query_id 'fig' is that of 'fig' on line 2; change one"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = write_file(tmp_path / "s.csv", f"{HEADER}fig,fig,1,f,fruit,fruit,0.5\n{row}\n")
    assert refusal(path).startswith(f"{path}, line 3: {message}")


def test_the_first_parents_of_each_query_are_chosen() -> None:
    assert choose(TWO) == Additions(
        (Concept("kiwi", "kiwi"), Concept("fig", "fig")), (("f", "kiwi"), ("a", "fig"))
    )
    assert len(choose(TWO, top_k=2).relations) == 4


def test_parents_below_the_least_score_are_left_out() -> None:
    chosen = choose(TWO, top_k=2, min_score=0.3)
    assert chosen == Additions((Concept("kiwi", "kiwi"),), (("f", "kiwi"), ("a", "kiwi")))


@pytest.mark.parametrize("moves", [("a", "b"), ("a|b", "c"), ("[x", "d"), ("e",), ()])
def test_ids_of_what_moves_are_told_apart(tmp_path: Path, moves: tuple[str, ...]) -> None:
    told = replace(suggestion("kiwi", 1, "f", 0.6), moves=moves)
    path = write_file(tmp_path / "s.csv", suggestions_csv([told]))
    assert read_suggestions(path)[0].moves == moves


def test_what_moves_may_be_spaced_and_makes_an_insert(tmp_path: Path) -> None:
    rows = "kiwi,f, a | b |,\nfig,f,a,attach\nplum,f,,\n"
    path = write_file(tmp_path / "s.csv", "query,parent_id,moves,kind\n" + rows)
    read = [(s.moves, s.kind) for s in read_suggestions(path)]
    assert read == [(("a", "b"), "insert"), (("a",), "attach"), ((), "attach")]
    bad = write_file(tmp_path / "bad.csv", 'query,parent_id,moves\nkiwi,f,"[1"\n')
    assert "line 2: moves is '[1'; it must be ids with | between them" in refusal(bad)


def merge(query: str, known: str, score: float, rank: int = 1) -> Suggestion:
    return replace(suggestion(query, rank, known, score), kind=MERGE)


def test_a_merge_below_the_least_score_is_none() -> None:
    told = [merge("pommes", "a", 0.6), suggestion("pommes", 2, "f", 0.7)]
    kept = choose(told, min_score=0.5, allow_merges=True)
    assert (kept.synonyms, kept.relations) == ((("a", "pommes"),), ())
    left = choose(told, min_score=0.65, allow_merges=True)
    assert (left.synonyms, left.relations) == ((), (("f", "pommes"),))


def test_the_surer_of_two_merges_has_the_name_in_any_order() -> None:
    told = [merge("Brew", "a", 0.6), merge("brew", "f", 0.9), merge("BREW", "a", 0.2, rank=0)]
    told = [replace(s, query=Concept(str(i), s.query.label)) for i, s in enumerate(told)]
    for order in permutations(told):
        synonyms = choose(order, allow_merges=True).synonyms
        assert synonyms == (("a", "BREW"), ("f", "brew"), ("a", "Brew"))


def test_under_a_new_concept_that_is_left_out_nothing_is_placed() -> None:
    doubtful = [
        suggestion("berry", 1, "f", 0.2),
        suggestion("red berry", 1, "berry", 0.9),
        suggestion("currant", 1, "red berry", 0.8),
        suggestion("currant", 2, "f", 0.1),
        suggestion("plum", 1, "f", 0.7),
    ]
    additions = choose(doubtful, min_score=0.5)
    assert additions.relations == (("f", "plum"),)
    assert [concept.id for concept in additions.concepts] == ["plum"]
    assert len(choose(doubtful).relations) == 4


def test_where_the_first_rank_was_removed_the_next_counts_as_first() -> None:
    assert choose(TWO[1:]).relations == (("a", "kiwi"), ("a", "fig"))


def test_rows_without_a_rank_are_all_chosen(tmp_path: Path) -> None:
    rows = "query,query_id,parent_id\nkiwi,k,f\nkiwi,k,a\n"
    assert choose(read_suggestions(write_file(tmp_path / "s.csv", rows))).relations == (
        ("f", "k"),
        ("a", "k"),
    )


def test_a_relation_suggested_twice_is_chosen_once() -> None:
    assert choose([TWO[0], TWO[0]]).relations == (("f", "kiwi"),)


def test_concepts_that_are_present_are_skipped_with_their_relations() -> None:
    kiwi, apple = Concept("k", "kiwi"), Concept("a", "apple")
    kept, present = keep_new(FOOD, Additions([kiwi, apple], [("f", "k"), ("f", "a")]))
    assert kept == Additions((kiwi,), (("f", "k"),))
    assert present == [(apple, FOOD.concept("a"))]


def test_a_new_concept_may_be_under_another_new_one() -> None:
    additions = Additions((Concept("x", "x"), Concept("y", "y")), (("f", "x"), ("x", "y")))
    assert keep_new(FOOD, additions) == (additions, [])


def test_a_parent_of_another_taxonomy_is_refused() -> None:
    message = "'ghost', the parent of 'k', is not in the taxonomy; were the suggestions made for"
    with pytest.raises(TaxonomyError, match=message):
        keep_new(FOOD, Additions([Concept("k", "kiwi")], [("ghost", "k")]))


def test_an_id_that_names_something_else_is_refused() -> None:
    message = (
        "the id 'a' of the new concept 'kiwi' belongs to 'apple' in the taxonomy; suggest again"
    )
    with pytest.raises(TaxonomyError, match=message):
        keep_new(FOOD, Additions([Concept("a", "kiwi")], [("f", "a")]))


def test_a_table_saved_by_a_spreadsheet_with_semicolons_is_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query;query_id;rank;parent_id;score\noat milk;7;2;1;0,25\n", encoding="utf-8")
    (suggestion,) = read_suggestions(path)
    assert (suggestion.query.label, suggestion.rank, suggestion.score) == ("oat milk", 2, 0.25)


def test_a_row_without_an_id_gets_one_for_all_rows_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query,parent_id\nkiwi,f\nfig,f\nkiwi,a\n", encoding="utf-8")
    taxonomy = Taxonomy([Concept("C1", "f"), Concept("C2", "a")])
    told = with_query_ids(taxonomy, read_suggestions(path))
    assert [s.query.id for s in told] == ["C3", "C4", "C3"]
    given = replace(told[0], query=Concept("C3", "mango"))
    mixed = with_query_ids(taxonomy, [given, *read_suggestions(path)])
    assert [s.query.id for s in mixed] == ["C3", "C4", "C5", "C4"]


def test_a_parent_under_another_label_is_refused() -> None:
    taxonomy = Taxonomy([Concept("1", "animal"), Concept("2", "dog")], [("1", "2")])
    edited = Suggestion(Concept("3", "husky"), 1, Concept("1", "dog"), (), 0.5)
    with pytest.raises(TaxonomyError, match="'husky' is 'animal' in the taxonomy and 'dog' in"):
        refuse_other_labels(taxonomy, [edited])
    refuse_other_labels(taxonomy, [replace(edited, parent=Concept("1", ""))])


def test_a_name_that_the_taxonomy_has_under_another_id_is_not_added_again() -> None:
    taxonomy = Taxonomy([Concept("1", "animal"), Concept("2", "Husky Dog")], [("1", "2")])
    additions, present = keep_new(taxonomy, Additions([Concept("9", "husky-dog")], [("1", "9")]))
    assert additions == Additions((), ())
    assert [(concept.id, known.id) for concept, known in present] == [("9", "2")]


def test_moves_that_are_of_no_taxonomy_are_refused_with_their_line(tmp_path: Path) -> None:
    told = [
        replace(suggestion("kiwi", 1, "f", 0.5), kind="insert", moves=("a",)),
        replace(suggestion("fig", 1, "f", 0.5), kind="attach", moves=("gone",)),
        replace(suggestion("plum", 1, "f", 0.5), kind="insert", moves=("a", "gone")),
    ]
    path = write_file(tmp_path / "s.csv", suggestions_csv(told))
    assert len(read_suggestions(path)) == 3
    with pytest.raises(FormatError) as caught:
        read_suggestions(path, FOOD)
    assert str(caught.value) == (
        f"{path}, line 4: moves names 'gone', and no concept of the taxonomy has that id; "
        "take it out of the cell, put | between ids, or suggest again"
    )
    path = write_file(tmp_path / "s.csv", suggestions_csv(told[:2]))
    assert len(read_suggestions(path, FOOD)) == 2


def test_a_concept_that_is_present_moves_nothing() -> None:
    additions = Additions(
        (Concept("a", "apple"),),
        (("f", "a"),),
        moves=(Move("a", "f", "a"),),
        synonyms=(("f", "x"),),
    )
    kept, _ = keep_new(FOOD, additions)
    assert kept == Additions((), (), synonyms=(("f", "x"),))


def test_rows_that_a_person_added_without_a_rank_come_first() -> None:
    query = Concept("q", "husky")
    told = [Suggestion(query, rank, Concept(p, p), (), 1.0) for rank, p in ((1, "a"), (0, "b"))]
    assert choose(told, top_k=1).relations == (("b", "q"),)


def test_only_what_is_sure_enough_is_chosen() -> None:
    sure, unsure = (
        replace(suggestion(name, 1, "f", 0.5), confidence=confidence)
        for name, confidence in (("kiwi", 0.9), ("fig", 0.4))
    )
    own = suggestion("plum", 0, "f", 1.0)
    chosen = choose([sure, unsure, own], min_confidence=0.5)
    assert [concept.label for concept in chosen.concepts] == ["kiwi", "plum"]
    with pytest.raises(ConfigurationError, match="not all of these suggestions tell how sure"):
        choose([suggestion("kiwi", 1, "f", 0.5)], min_confidence=0.5)


def test_confidence_is_kept_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.csv"
    moved = replace(suggestion("kiwi", 1, "f", 0.5), confidence=0.25, moves=("a", "b"))
    told = [moved, suggestion("fig", 1, "f", 1)]
    path.write_text(suggestions_csv(told), encoding="utf-8")
    assert [s.moves for s in read_suggestions(path)] == [("a", "b"), ()]
    assert [s.confidence for s in read_suggestions(path)] == [0.25, None]
    path.write_text(path.read_text().replace("0.25", "1.25"), encoding="utf-8")
    with pytest.raises(FormatError, match="confidence from 0 to 1"):
        read_suggestions(path)
