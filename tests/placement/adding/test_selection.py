from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from expanded_files import write_file
from hypothesis import given
from hypothesis import strategies as st
from suggestion_tables import read_suggestions

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.placement.adding.change_validation import validate_additions
from taxoexpan.placement.adding.selection import (
    drop_existing,
    refuse_other_labels,
    select_additions,
    with_query_ids,
)
from taxoexpan.placement.suggesting.suggestions import Decision, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
DRINKS = Taxonomy(
    [
        *(Concept(id, id) for id in ("drink", "organic", "tea", "organic oat milk")),
        Concept("aubergine", "aubergine", ("eggplant",)),
    ],
    [("drink", "tea"), ("drink", "organic oat milk"), ("organic", "organic oat milk")],
)
MILK = Concept("milk", "milk")


def suggestion(query: str, rank: int, parent: str, score: float) -> Suggestion:
    return Suggestion(Concept(query, query), rank, Concept(parent, parent), (parent,), score)


def merge(query: str, known: str, score: float, rank: int = 1) -> Suggestion:
    return replace(suggestion(query, rank, known, score), kind=SuggestionKind.MERGE)


def merge_into(query: Concept, known: str) -> Suggestion:
    return Suggestion(query, 1, Concept(known, known), (known,), 0.9, 0.9, SuggestionKind.MERGE)


def insert(query: str, parent: str, *moves: str, rank: int = 1, score: float = 0.5) -> Suggestion:
    concept, above = Concept(query, query), Concept(parent, parent)
    return Suggestion(
        concept, rank, above, (parent,), score, kind=SuggestionKind.INSERT, moves=moves
    )


TWO = [
    suggestion("kiwi", 1, "f", 0.6),
    suggestion("kiwi", 2, "a", 0.3),
    suggestion("fig", 1, "a", 0.2),
    suggestion("fig", 2, "f", 0.1),
]


def test_the_first_parents_of_each_query_are_selected() -> None:
    assert select_additions(TWO) == Additions(
        (Concept("kiwi", "kiwi"), Concept("fig", "fig")), (("f", "kiwi"), ("a", "fig"))
    )
    assert len(select_additions(TWO, top_k=2).relations) == 4


def test_parents_below_the_minimum_score_are_left_out() -> None:
    chosen = select_additions(TWO, top_k=2, min_score=0.3)
    assert chosen == Additions((Concept("kiwi", "kiwi"),), (("f", "kiwi"), ("a", "kiwi")))


def test_a_merge_below_the_minimum_score_is_rejected() -> None:
    given = [merge("pommes", "a", 0.6), suggestion("pommes", 2, "f", 0.7)]
    kept = select_additions(given, min_score=0.5, allow_merges=True)
    assert (kept.synonyms, kept.relations) == ((("a", "pommes"),), ())
    left = select_additions(given, min_score=0.65, allow_merges=True)
    assert (left.synonyms, left.relations) == ((), (("f", "pommes"),))


def test_the_more_confident_merge_comes_first_in_any_order() -> None:
    given = [merge("Brew", "a", 0.6), merge("brew", "f", 0.9), merge("BREW", "a", 0.2, rank=0)]
    given = [replace(s, query=Concept(str(i), s.query.label)) for i, s in enumerate(given)]
    for order in permutations(given):
        synonyms = select_additions(order, allow_merges=True).synonyms
        assert synonyms == (("a", "BREW"), ("f", "brew"), ("a", "Brew"))


def test_children_of_a_rejected_concept_are_rejected() -> None:
    doubtful = [
        suggestion("berry", 1, "f", 0.2),
        suggestion("red berry", 1, "berry", 0.9),
        suggestion("currant", 1, "red berry", 0.8),
        suggestion("currant", 2, "f", 0.1),
        suggestion("plum", 1, "f", 0.7),
    ]
    additions = select_additions(doubtful, min_score=0.5)
    assert additions.relations == (("f", "plum"),)
    assert [concept.id for concept in additions.concepts] == ["plum"]
    assert len(select_additions(doubtful).relations) == 4


def test_the_next_rank_counts_as_first_if_the_first_was_removed() -> None:
    assert select_additions(TWO[1:]).relations == (("a", "kiwi"), ("a", "fig"))


def test_rows_without_a_rank_are_all_selected(tmp_path: Path) -> None:
    rows = "query,query_id,parent_id\nkiwi,k,f\nkiwi,k,a\n"
    assert select_additions(read_suggestions(write_file(tmp_path / "s.csv", rows))).relations == (
        ("f", "k"),
        ("a", "k"),
    )


def test_a_relation_that_is_suggested_twice_is_selected_once() -> None:
    assert select_additions([TWO[0], TWO[0]]).relations == (("f", "kiwi"),)


def test_rows_that_a_person_added_without_a_rank_come_first() -> None:
    query = Concept("q", "husky")
    given = [Suggestion(query, rank, Concept(p, p), (), 1.0) for rank, p in ((1, "a"), (0, "b"))]
    assert select_additions(given, top_k=1).relations == (("b", "q"),)


def test_suggestions_below_the_minimum_confidence_are_left_out() -> None:
    sure, unsure = (
        replace(suggestion(name, 1, "f", 0.5), confidence=confidence)
        for name, confidence in (("kiwi", 0.9), ("fig", 0.4))
    )
    own = suggestion("plum", 0, "f", 1.0)
    chosen = select_additions([sure, unsure, own], min_confidence=0.5)
    assert [concept.label for concept in chosen.concepts] == ["kiwi", "plum"]
    with pytest.raises(ConfigurationError, match="not all of these suggestions have a confidence"):
        select_additions([suggestion("kiwi", 1, "f", 0.5)], min_confidence=0.5)


def test_existing_concepts_are_dropped_with_their_relations() -> None:
    kiwi, apple = Concept("k", "kiwi"), Concept("a", "apple")
    kept, present = drop_existing(FOOD, Additions([kiwi, apple], [("f", "k"), ("f", "a")]))
    assert kept == Additions((kiwi,), (("f", "k"),))
    assert present == [(apple, FOOD.concept("a"))]


def test_a_new_concept_may_be_under_another_new_one() -> None:
    additions = Additions((Concept("x", "x"), Concept("y", "y")), (("f", "x"), ("x", "y")))
    assert drop_existing(FOOD, additions) == (additions, [])


def test_a_parent_of_another_taxonomy_is_refused() -> None:
    message = "'ghost', the parent of 'k', is not in the taxonomy; were the suggestions made for"
    with pytest.raises(TaxonomyError, match=message):
        drop_existing(FOOD, Additions([Concept("k", "kiwi")], [("ghost", "k")]))


def test_an_id_of_another_concept_is_refused() -> None:
    message = (
        "the id 'a' of the new concept 'kiwi' belongs to 'apple' in the taxonomy; suggest again"
    )
    with pytest.raises(TaxonomyError, match=message):
        drop_existing(FOOD, Additions([Concept("a", "kiwi")], [("f", "a")]))


def test_a_name_that_the_taxonomy_has_under_another_id_is_not_added_again() -> None:
    taxonomy = Taxonomy([Concept("1", "animal"), Concept("2", "Husky Dog")], [("1", "2")])
    additions, present = drop_existing(
        taxonomy, Additions([Concept("9", "husky-dog")], [("1", "9")])
    )
    assert additions == Additions((), ())
    assert [(concept.id, known.id) for concept, known in present] == [("9", "2")]


def test_a_parent_that_the_taxonomy_has_under_another_id_is_found_by_its_name() -> None:
    additions = Additions(
        [Concept("new:apple", "Apple"), Concept("k", "russet")],
        [("f", "new:apple"), ("new:apple", "k")],
        synonyms=(("new:apple", "pomme"),),
    )
    kept, _ = drop_existing(FOOD, additions)
    assert kept == Additions((Concept("k", "russet"),), (("a", "k"),), synonyms=(("a", "pomme"),))


def test_an_existing_concept_moves_nothing() -> None:
    additions = Additions(
        (Concept("a", "apple"),),
        (("f", "a"),),
        moves=(Move("a", "f", "a"),),
        synonyms=(("f", "x"),),
    )
    kept, _ = drop_existing(FOOD, additions)
    assert kept == Additions((), (), synonyms=(("f", "x"),))


def test_a_row_without_an_id_gets_one_for_all_rows_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query,parent_id\nkiwi,f\nfig,f\nkiwi,a\n", encoding="utf-8")
    taxonomy = Taxonomy([Concept("C1", "f"), Concept("C2", "a")])
    given = with_query_ids(taxonomy, read_suggestions(path))
    assert [s.query.id for s in given] == ["C3", "C4", "C3"]
    given = replace(given[0], query=Concept("C3", "mango"))
    mixed = with_query_ids(taxonomy, [given, *read_suggestions(path)])
    assert [s.query.id for s in mixed] == ["C3", "C4", "C5", "C4"]


def test_a_parent_with_another_label_is_refused() -> None:
    taxonomy = Taxonomy([Concept("1", "animal"), Concept("2", "dog")], [("1", "2")])
    edited = Suggestion(Concept("3", "husky"), 1, Concept("1", "dog"), (), 0.5)
    with pytest.raises(TaxonomyError, match="'husky' is 'animal' in the taxonomy, but 'dog' in"):
        refuse_other_labels(taxonomy, [edited])
    refuse_other_labels(taxonomy, [replace(edited, parent=Concept("1", ""))])
    refuse_other_labels(taxonomy, [replace(edited, rank=0)])  # a person's own decision


@given(st.permutations([0, 1, 2, 3]))
def test_the_longer_name_gets_a_child_that_two_inserts_claim(order: list[int]) -> None:
    rows = [
        insert("milk", "drink", "tea", "organic oat milk", score=0.9),
        insert("oat milk", "drink", "organic oat milk", score=0.2),
        insert("wet", "drink", "tea", score=0.3),
        merge_into(Concept("m", "brinjal"), "aubergine"),
    ]
    chosen = select_additions([rows[i] for i in order], allow_moves=True, allow_merges=True)
    validated = validate_additions(DRINKS, chosen)
    assert set(validated.additions.moves) == {
        Move("organic oat milk", "drink", "oat milk"),
        Move("tea", "drink", "milk"),
    }
    assert validated.rejected == [
        "'organic oat milk' is not moved from 'drink' below 'milk': "
        "it already moves below 'oat milk'",
        "'tea' is not moved from 'drink' below 'wet': it already moves below 'milk'",
    ]
    assert validated.additions.synonyms == (("aubergine", "brinjal"),)
    expanded = DRINKS.expanded(validated.additions)
    assert expanded.parents("organic oat milk") == ("oat milk", "organic")
    assert expanded.parents("tea") == ("milk",)


def test_the_more_confident_insert_gets_a_child_and_a_persons_own_comes_first() -> None:
    rows = [insert("tees", "drink", "tea", score=0.2), insert("leaf", "drink", "tea", score=0.9)]
    (first, _) = select_additions(rows, allow_moves=True).moves
    assert first.new_parent == "leaf"
    own = insert("t", "drink", "tea", rank=0, score=0.0)
    assert select_additions([*rows, own], allow_moves=True).moves[0].new_parent == "t"


def test_moves_and_merges_must_be_allowed() -> None:
    rows = [insert("milk", "drink", "tea"), merge_into(Concept("m", "brinjal"), "aubergine")]
    plain = Additions((MILK,), (("drink", "milk"),))
    assert select_additions(rows) == plain
    assert select_additions(rows, allow_moves=True) == replace(
        plain, moves=(Move("tea", "drink", "milk"),)
    )
    assert select_additions(rows, allow_merges=True) == replace(
        plain, synonyms=(("aubergine", "brinjal"),)
    )


def test_an_insert_that_is_not_selected_moves_nothing() -> None:
    rows = [insert("milk", "drink", "tea", rank=2), insert("milk", "tea", rank=1)]
    assert select_additions(rows, allow_moves=True).moves == ()


def test_a_merge_adds_the_synonyms_of_the_query() -> None:
    known = select_additions(
        [merge_into(Concept("m", "brinjal", ("melongene",)), "aubergine")], allow_merges=True
    )
    assert known.synonyms == (("aubergine", "brinjal"), ("aubergine", "melongene"))


def test_accepted_rows_are_applied_alone_whatever_their_rank_and_the_thresholds() -> None:
    rows = [*TWO[:1], replace(TWO[1], decision=Decision.ACCEPTED), *TWO[2:]]
    chosen = select_additions(rows, top_k=2, min_score=0.5)
    assert chosen.relations == (("a", "kiwi"),)
    both = [replace(row, decision=Decision.ACCEPTED) for row in TWO[:2]]
    assert select_additions(both).relations == (("f", "kiwi"), ("a", "kiwi"))


def test_undecided_rows_wait_for_a_threshold_and_rejected_ones_are_never_applied() -> None:
    kiwi = [replace(row, decision=Decision.UNDECIDED) for row in TWO[:2]]
    fig = [replace(TWO[2], decision=Decision.REJECTED), TWO[3]]
    rows = [*kiwi, *fig]
    assert select_additions(rows).relations == (("f", "fig"),)
    assert select_additions(rows, undecided=True).relations == (("f", "kiwi"), ("f", "fig"))
    own = replace(kiwi[1], rank=0)
    assert select_additions([kiwi[0], own, *fig]).relations == (("a", "kiwi"), ("f", "fig"))


def test_children_of_an_undecided_concept_are_not_applied() -> None:
    berry = replace(suggestion("berry", 1, "f", 0.2), decision=Decision.UNDECIDED)
    currant = replace(suggestion("currant", 1, "berry", 0.9), decision=Decision.ACCEPTED)
    assert select_additions([berry, currant]).concepts == ()
