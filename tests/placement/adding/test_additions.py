from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from taxoexpan.errors import CycleError, TaxonomyError
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.adding.additions import (
    accept_suggestions,
    drop_existing,
    validate_additions,
    with_query_ids,
)
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.mappings import ConceptMapping, Justification
from tests.support.strategies import Growth, growths, insertions, quickly
from tests.support.suggestion_tables import read_suggestions

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])


def suggestion(label: str, score: float, parent: str = "f", **fields: Any) -> Suggestion:
    known = FOOD.concept(parent) if parent in FOOD else Concept(parent, parent)
    return Suggestion(Concept(label, label), 1, known, (known.label,), score, **fields)


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, ["kiwi", "fig"]),
        ({"min_score": 0.5}, ["kiwi"]),
        ({"min_confidence": 0.6}, ["fig"]),
        ({"min_score": 0.5, "min_confidence": 0.6}, []),
    ],
)
def test_suggestions_below_a_threshold_are_left_out(
    options: dict[str, float], added: list[str]
) -> None:
    suggestions = [
        suggestion("kiwi", 0.5, confidence=0.5),
        suggestion("fig", 0.4, confidence=0.7),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(**options))
    assert [concept.label for concept in accepted.additions.concepts] == added
    assert accepted.left_out == 2 - len(added)


def test_every_query_is_added_or_present_or_merged_or_left_out() -> None:
    suggestions = [
        suggestion("kiwi", 0.9),
        suggestion("fig", 0.9),
        suggestion("Apple", 0.9),
        *(suggestion(label, 0.9, "a", kind=SuggestionKind.MERGE) for label in ("apfel", "pomme")),
        *(suggestion(label, 0.1) for label in ("bolt", "nut", "screw")),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(min_score=0.5))
    assert [concept.label for concept in accepted.additions.concepts] == ["kiwi", "fig"]
    assert [(new.label, known.id) for new, known in accepted.already_present] == [("Apple", "a")]
    assert [merge.query.label for merge in accepted.merged] == ["apfel", "pomme"]
    assert accepted.left_out == 3


def test_a_parent_whose_label_was_edited_is_refused() -> None:
    edited = replace(suggestion("kiwi", 0.9), parent=Concept("f", "vegetable"))
    with pytest.raises(TaxonomyError, match="'fruit' in the taxonomy, but 'vegetable'"):
        accept_suggestions(FOOD, [edited], Acceptance())
    for kept in (replace(edited, parent=Concept("f", "")), replace(edited, rank=0)):
        (accepted,) = accept_suggestions(FOOD, [kept], Acceptance()).suggestions
        assert accepted.parent == FOOD.concept("f")


def test_suggestions_are_returned_with_the_ids_that_were_filled_in() -> None:
    """Ids of this taxonomy are made from those of the parents, so they are made last."""
    ids = ("hg", *(f"hg-{number}" for number in range(1, 7)))
    codes = Taxonomy([Concept(id, f"food {id}") for id in ids], [("hg", id) for id in ids[1:]])
    given = [
        Suggestion(Concept("", "kiwi"), 1, codes.concept("hg-1"), (), 0.9),
        Suggestion(Concept("own", "fig"), 1, codes.concept("hg-2"), (), 0.9),
    ]
    accepted = accept_suggestions(codes, given, Acceptance())
    kiwi, fig = accepted.suggestions
    first, second = (replace(each, decision=Verdict.ACCEPTED) for each in given)
    assert kiwi == replace(first, query=Concept("hg-1-1", "kiwi"))
    assert fig == second
    assert accepted.additions.relations == (("hg-1", "hg-1-1"), ("hg-2", "own"))


def test_existing_concepts_are_dropped_with_their_relations() -> None:
    kiwi, apple = Concept("k", "kiwi"), Concept("a", "apple")
    kept, present = drop_existing(FOOD, Additions([kiwi, apple], [("f", "k"), ("f", "a")]))
    assert kept == Additions((kiwi,), (("f", "k"),))
    assert present == [(apple, FOOD.concept("a"))]


def test_a_new_concept_may_be_under_another_new_one() -> None:
    additions = Additions((Concept("x", "x"), Concept("y", "y")), (("f", "x"), ("x", "y")))
    assert drop_existing(FOOD, additions) == (additions, [])


def test_a_parent_of_another_taxonomy_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="'ghost', the parent of 'k', is not in the taxonomy"):
        drop_existing(FOOD, Additions([Concept("k", "kiwi")], [("ghost", "k")]))


def test_an_id_of_another_concept_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="'a' of the new concept 'kiwi' belongs to 'apple'"):
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


@pytest.mark.parametrize(
    ("id", "rank", "mapped"),
    [("7", 1, ("7", Justification.COMPOSITE, 0.9)), ("8", 0, ("", Justification.MANUAL, None))],
)
def test_a_merge_is_a_mapping_with_its_own_id_only(
    id: str, rank: int, mapped: tuple[str, Justification, float | None]
) -> None:
    merge = suggestion(id, 0.5, "a", confidence=0.9, kind=SuggestionKind.MERGE)
    accepted = accept_suggestions(FOOD, [replace(merge, rank=rank)], Acceptance())
    own, why, confidence = mapped
    assert accepted.mappings({"7"}) == [ConceptMapping(own, id, "a", "apple", why, confidence)]


DRINKS = Taxonomy(
    [
        *(Concept(id, id) for id in ("drink", "organic", "tea", "organic oat milk")),
        Concept("aubergine", "aubergine", ("eggplant",)),
    ],
    [("drink", "tea"), ("drink", "organic oat milk"), ("organic", "organic oat milk")],
)
MILK = Concept("milk", "milk")


@given(insertions(growths()))
@quickly
def test_a_moved_child_keeps_all_its_ancestors(growth: Growth) -> None:
    old, additions = growth.old, validate_additions(growth.old, growth.additions)[0]
    expanded = old.expanded(additions)
    relations = set(expanded.relations)
    moved = {(s.old_parent, s.child): s for s in additions.moves}
    for pair in old.relations:
        if pair in moved:
            move = moved[pair]
            assert pair not in relations
            assert (move.old_parent, move.new_parent) in relations
            assert (move.new_parent, move.child) in relations
        else:
            assert pair in relations
    for id in old:
        assert set(old.ancestors(id)) <= set(expanded.ancestors(id))
    assert len(relations) == len(old.relations) + len(set(additions.relations))


@given(insertions(growths()))
@quickly
def test_a_move_is_rejected_only_for_a_reason_that_is_reported(growth: Growth) -> None:
    old, claims = growth.old, growth.additions.moves
    safe, rejected = validate_additions(old, growth.additions)
    kept = safe.moves
    assert len(kept) + len(rejected) == len(claims)
    children = [move.child for move in kept]
    assert len(children) == len(set(children))
    for move in set(claims) - set(kept):
        if move.child not in children:
            # Together with the kept moves, it would make a cycle.
            with pytest.raises(CycleError):
                old.expanded(replace(growth.additions, moves=(*kept, move)))


@given(insertions(growths(most_parents=1), most_parents=1))
@quickly
def test_every_claimed_child_moves_if_new_concepts_have_one_parent(growth: Growth) -> None:
    kept, _ = validate_additions(growth.old, growth.additions)
    assert {s.child for s in kept.moves} == {s.child for s in growth.additions.moves}


WHITE_TEA = Concept("white tea", "white tea")


@pytest.mark.parametrize(
    ("new", "relations", "move", "reason"),
    [
        ((MILK,), (("organic", "milk"),), ("tea", "organic"), "it is not below that parent"),
        (
            (MILK, WHITE_TEA),
            (("drink", "milk"), ("drink", "white tea")),
            ("white tea", "drink"),
            "it is new, too",
        ),
        ((MILK,), (("tea", "milk"),), ("tea", "drink"), "the new parent would be below it"),
    ],
)
def test_an_unsafe_move_is_rejected_with_a_reason(
    new: tuple[Concept, ...],
    relations: tuple[tuple[str, str], ...],
    move: tuple[str, str],
    reason: str,
) -> None:
    additions = Additions(new, relations, moves=(Move(*move, "milk"),))
    kept, (message,) = validate_additions(DRINKS, additions)
    assert kept == replace(additions, moves=())
    child, parent = move
    start = f"{child!r} is not moved from {parent!r} below 'milk': {reason}"
    assert message.startswith(start)


def test_of_two_moves_that_make_a_cycle_together_one_is_made() -> None:
    ids = ("p", "a", "b", "under a", "under b")
    old = Taxonomy(
        [Concept(id, id) for id in ids],
        [("p", "a"), ("p", "b"), ("a", "under a"), ("b", "under b")],
    )
    new = (Concept("q", "q"), Concept("r", "r"))
    relations = (("p", "q"), ("under b", "q"), ("p", "r"), ("under a", "r"))
    moves = (Move("a", "p", "q"), Move("b", "p", "r"))
    with pytest.raises(CycleError):
        old.expanded(Additions(new, relations, moves=moves))
    kept, _ = validate_additions(old, Additions(new, relations, moves=moves))
    assert kept.moves == moves[:1]
    assert len(old.expanded(kept)) == 7


def test_known_names_are_not_added_as_synonyms() -> None:
    names = ("Eggplant", "brinjal", "Brinjal", "milk", "tea")
    additions = Additions(
        (MILK,), (("drink", "milk"),), synonyms=tuple(("aubergine", name) for name in names)
    )
    kept, rejected = validate_additions(DRINKS, additions)
    assert kept.synonyms == (("aubergine", "brinjal"),)
    owners = ("aubergine", "aubergine", "milk", "tea")
    assert rejected == [
        f"{name!r} is not added as a synonym: it is already a name of {owner!r}"
        for name, owner in zip(("Eggplant", "Brinjal", "milk", "tea"), owners, strict=True)
    ]
    grown = DRINKS.expanded(kept).concept("aubergine")
    assert grown.synonyms == ("eggplant", "brinjal")


def test_a_new_concept_gets_the_synonyms_of_what_is_merged_with_it() -> None:
    names = (("milk", "mylk"), ("milk", "tea"), ("aubergine", "brinjal"))
    additions = Additions((MILK,), (("drink", "milk"),), synonyms=names)
    kept, rejected = validate_additions(DRINKS, additions)
    assert kept.synonyms == (("aubergine", "brinjal"),)
    assert DRINKS.expanded(kept).concept("milk").synonyms == ("mylk",)
    assert rejected == ["'tea' is not added as a synonym: it is already a name of 'tea'"]


@pytest.mark.parametrize(
    "changes", [{"moves": (Move("x", "drink", "milk"),)}, {"synonyms": (("x", "y"),)}]
)
def test_moves_and_synonyms_of_another_taxonomy_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(TaxonomyError, match=r"'x', which would .* is not in the taxonomy"):
        validate_additions(DRINKS, Additions((MILK,), (("drink", "milk"),), **changes))


@pytest.mark.parametrize(
    "move", [Move("tea", "organic", "milk"), Move("organic oat milk", "organic", "milk")]
)
def test_a_taxonomy_refuses_a_move_that_was_not_validated(move: Move) -> None:
    message = f"cannot move '{move.child}' from 'organic' to 'milk'"
    with pytest.raises(TaxonomyError, match=message):
        DRINKS.expanded(Additions((MILK,), (("drink", "milk"),), moves=(move,)))


def test_a_taxonomy_refuses_a_synonym_of_an_unknown_concept() -> None:
    with pytest.raises(TaxonomyError, match="no concept has the id 'x'"):
        DRINKS.expanded(Additions((), (), synonyms=(("x", "y"),)))


def test_a_child_with_two_parents_leaves_one_and_keeps_the_other() -> None:
    ids = ("drink", "vegan", "oat milk")
    taxonomy = Taxonomy(
        [Concept(id, id) for id in ids], [("drink", "oat milk"), ("vegan", "oat milk")]
    )
    moves = [Move("oat milk", parent, "q") for parent in ("drink", "vegan")]
    relations = [("drink", "q"), ("vegan", "q")]
    kept, rejected = validate_additions(
        taxonomy, Additions([Concept("q", "milk")], relations, moves=moves)
    )
    assert kept.moves == (moves[0],)
    (reason,) = rejected
    assert "already moves below 'milk', and keeps this parent" in reason
