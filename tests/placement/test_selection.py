from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Growth, growths, insertions, quickly

from taxoexpan.errors import CycleError, TaxonomyError
from taxoexpan.placement.selection import choose, validate_additions
from taxoexpan.placement.suggestions import INSERT, MERGE, Suggestion
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

DRINKS = Taxonomy(
    [
        *(Concept(id, id) for id in ("drink", "organic", "tea", "organic oat milk")),
        Concept("aubergine", "aubergine", ("eggplant",)),
    ],
    [("drink", "tea"), ("drink", "organic oat milk"), ("organic", "organic oat milk")],
)
MILK, OAT_MILK = Concept("milk", "milk"), Concept("oat milk", "oat milk")


def insert(query: str, parent: str, *moves: str, rank: int = 1, score: float = 0.5) -> Suggestion:
    concept, above = Concept(query, query), Concept(parent, parent)
    return Suggestion(concept, rank, above, (parent,), score, kind=INSERT, moves=moves)


def merge(query: Concept, known: str) -> Suggestion:
    return Suggestion(query, 1, Concept(known, known), (known,), 0.9, 0.9, MERGE)


@given(insertions(growths()))
@quickly
def test_what_moves_keeps_all_that_was_above_it(growth: Growth) -> None:
    old, additions = growth.old, validate_additions(growth.old, growth.additions).additions
    expanded = old.expanded(additions)
    relations, moved = (
        set(expanded.relations),
        {(s.old_parent, s.child): s for s in additions.moves},
    )
    for pair in old.relations:
        if pair in moved:
            shift = moved[pair]
            assert pair not in relations
            assert {
                (shift.old_parent, shift.new_parent),
                (shift.new_parent, shift.child),
            } <= relations
        else:
            assert pair in relations
    for id in old:
        assert set(old.ancestors(id)) <= set(expanded.ancestors(id))
    assert len(relations) == old.relation_count + len(set(additions.relations))


@given(insertions(growths()))
@quickly
def test_a_claim_is_left_out_only_for_a_reason_and_told(growth: Growth) -> None:
    old, claims = growth.old, growth.additions.moves
    settled = validate_additions(old, growth.additions)
    kept = settled.additions.moves
    assert len(kept) + len(settled.left_out) == len(claims)
    children = [shift.child for shift in kept]
    assert len(children) == len(set(children))
    for shift in set(claims) - set(kept):
        if shift.child not in children:
            # Beside those that are kept, it would make a cycle.
            with pytest.raises(CycleError):
                old.expanded(replace(growth.additions, moves=(*kept, shift)))


@given(insertions(growths(most_parents=1), most_parents=1))
@quickly
def test_where_new_concepts_have_one_parent_every_child_that_is_claimed_moves(
    growth: Growth,
) -> None:
    settled = validate_additions(growth.old, growth.additions).additions
    assert {s.child for s in settled.moves} == {s.child for s in growth.additions.moves}


@given(st.permutations([0, 1, 2, 3]))
def test_of_two_claims_the_longer_name_has_it_in_whatever_order(order: list[int]) -> None:
    rows = [
        insert("milk", "drink", "tea", "organic oat milk", score=0.9),
        insert("oat milk", "drink", "organic oat milk", score=0.2),
        insert("wet", "drink", "tea", score=0.3),
        merge(Concept("m", "brinjal"), "aubergine"),
    ]
    chosen = choose([rows[i] for i in order], allow_moves=True, allow_merges=True)
    settled = validate_additions(DRINKS, chosen)
    assert set(settled.additions.moves) == {
        Move("organic oat milk", "drink", "oat milk"),
        Move("tea", "drink", "milk"),
    }
    assert settled.left_out == [
        "'organic oat milk' is not moved from 'drink' below 'milk': "
        "it moves below 'oat milk' already",
        "'tea' is not moved from 'drink' below 'wet': it moves below 'milk' already",
    ]
    assert settled.additions.synonyms == (("aubergine", "brinjal"),)
    expanded = DRINKS.expanded(settled.additions)
    assert expanded.parents("organic oat milk") == ("oat milk", "organic")
    assert expanded.parents("tea") == ("milk",)


def test_of_names_of_one_length_the_surer_has_it_and_a_persons_own_before_all() -> None:
    rows = [insert("tees", "drink", "tea", score=0.2), insert("leaf", "drink", "tea", score=0.9)]
    (first, _) = choose(rows, allow_moves=True).moves
    assert first.new_parent == "leaf"
    own = insert("t", "drink", "tea", rank=0, score=0.0)
    assert choose([*rows, own], allow_moves=True).moves[0].new_parent == "t"


def test_nothing_is_moved_or_merged_unless_it_is_allowed() -> None:
    rows = [insert("milk", "drink", "tea"), merge(Concept("m", "brinjal"), "aubergine")]
    plain = Additions((MILK,), (("drink", "milk"),))
    assert choose(rows) == plain
    assert choose(rows, allow_moves=True) == replace(plain, moves=(Move("tea", "drink", "milk"),))
    assert choose(rows, allow_merges=True) == replace(plain, synonyms=(("aubergine", "brinjal"),))


def test_what_an_insert_that_is_not_chosen_claims_does_not_move() -> None:
    rows = [insert("milk", "drink", "tea", rank=2), insert("milk", "tea", rank=1)]
    assert choose(rows, allow_moves=True).moves == ()


def test_a_child_that_has_left_its_parent_is_told_and_stays() -> None:
    additions = Additions((MILK,), (("organic", "milk"),), moves=(Move("tea", "organic", "milk"),))
    settled = validate_additions(DRINKS, additions)
    assert settled.additions.moves == ()
    assert settled.left_out == [
        "'tea' is not moved from 'organic' below 'milk': it is not under that"
    ]


def test_a_child_above_its_new_parent_by_another_way_is_told_and_stays() -> None:
    relations = (("drink", "milk"), ("tea", "milk"))
    additions = Additions((MILK,), relations, moves=(Move("tea", "drink", "milk"),))
    settled = validate_additions(DRINKS, additions)
    assert settled.left_out == [
        "'tea' is not moved from 'drink' below 'milk': that would be below it"
    ]
    assert DRINKS.expanded(settled.additions).parents("milk") == ("drink", "tea")


def test_two_moves_that_are_safe_alone_but_not_together_are_not_both_made() -> None:
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
    settled = validate_additions(old, Additions(new, relations, moves=moves))
    assert settled.additions.moves == moves[:1]
    assert len(old.expanded(settled.additions)) == 7


def test_names_that_are_known_are_not_added_again() -> None:
    names = ("Eggplant", "brinjal", "Brinjal", "milk", "tea")
    additions = Additions(
        (MILK,), (("drink", "milk"),), synonyms=tuple(("aubergine", name) for name in names)
    )
    settled = validate_additions(DRINKS, additions)
    assert settled.additions.synonyms == (("aubergine", "brinjal"),)
    owners = ("aubergine", "aubergine", "milk", "tea")
    assert settled.left_out == [
        f"{name!r} is not added as another name: it is one of {owner!r}"
        for name, owner in zip(("Eggplant", "Brinjal", "milk", "tea"), owners, strict=True)
    ]
    grown = DRINKS.expanded(settled.additions).concept("aubergine")
    assert grown.synonyms == ("eggplant", "brinjal")


def test_a_merge_brings_the_synonyms_of_what_is_merged() -> None:
    known = choose([merge(Concept("m", "brinjal", ("melongene",)), "aubergine")], allow_merges=True)
    assert known.synonyms == (("aubergine", "brinjal"), ("aubergine", "melongene"))


@pytest.mark.parametrize(
    ("additions", "message"),
    [
        (
            Additions((MILK,), (("drink", "milk"),), moves=(Move("x", "drink", "milk"),)),
            "'x', which is to move below 'milk', is not in the taxonomy; were the suggestions",
        ),
        (
            Additions((), (), synonyms=(("x", "y"),)),
            "'x', of which 'y' is to be another name, is not in the taxonomy; were the sugg",
        ),
    ],
)
def test_moves_and_names_of_another_taxonomy_are_refused(
    additions: Additions, message: str
) -> None:
    with pytest.raises(TaxonomyError, match=message):
        validate_additions(DRINKS, additions)


@pytest.mark.parametrize(
    "shift", [Move("tea", "organic", "milk"), Move("organic oat milk", "organic", "milk")]
)
def test_a_taxonomy_is_not_expanded_by_what_does_not_come_between(shift: Move) -> None:
    message = f"cannot move '{shift.child}' from 'organic' to 'milk'"
    with pytest.raises(TaxonomyError, match=message):
        DRINKS.expanded(Additions((MILK,), (("drink", "milk"),), moves=(shift,)))


def test_other_names_of_what_is_not_there_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="no concept has the id 'x'"):
        DRINKS.expanded(Additions((), (), synonyms=(("x", "y"),)))


def test_a_child_leaves_one_parent_and_it_is_told_that_it_keeps_the_other() -> None:
    ids = ("drink", "vegan", "oat milk")
    taxonomy = Taxonomy(
        [Concept(id, id) for id in ids], [("drink", "oat milk"), ("vegan", "oat milk")]
    )
    moves = [Move("oat milk", parent, "q") for parent in ("drink", "vegan")]
    relations = [("drink", "q"), ("vegan", "q")]
    settled = validate_additions(
        taxonomy, Additions([Concept("q", "milk")], relations, moves=moves)
    )
    assert settled.additions.moves == (moves[0],)
    (told,) = settled.left_out
    assert "below 'milk' already, and keeps this parent; take that relation out by hand" in told
