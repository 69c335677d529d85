from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from strategies import Growth, growths, insertions, quickly

from taxoexpan.errors import CycleError, TaxonomyError
from taxoexpan.placement.adding.change_validation import validate_additions
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

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
    old, additions = growth.old, validate_additions(growth.old, growth.additions).additions
    expanded = old.expanded(additions)
    relations, moved = (
        set(expanded.relations),
        {(s.old_parent, s.child): s for s in additions.moves},
    )
    for pair in old.relations:
        if pair in moved:
            move = moved[pair]
            assert pair not in relations
            assert {
                (move.old_parent, move.new_parent),
                (move.new_parent, move.child),
            } <= relations
        else:
            assert pair in relations
    for id in old:
        assert set(old.ancestors(id)) <= set(expanded.ancestors(id))
    assert len(relations) == len(old.relations) + len(set(additions.relations))


@given(insertions(growths()))
@quickly
def test_a_move_is_rejected_only_for_a_reason_that_is_reported(growth: Growth) -> None:
    old, claims = growth.old, growth.additions.moves
    validated = validate_additions(old, growth.additions)
    kept = validated.additions.moves
    assert len(kept) + len(validated.rejected) == len(claims)
    children = [move.child for move in kept]
    assert len(children) == len(set(children))
    for move in set(claims) - set(kept):
        if move.child not in children:
            # Together with the kept moves, it would make a cycle.
            with pytest.raises(CycleError):
                old.expanded(replace(growth.additions, moves=(*kept, move)))


@given(insertions(growths(most_parents=1), most_parents=1))
@quickly
def test_every_claimed_child_moves_if_new_concepts_have_one_parent(
    growth: Growth,
) -> None:
    validated = validate_additions(growth.old, growth.additions).additions
    assert {s.child for s in validated.moves} == {s.child for s in growth.additions.moves}


def test_a_child_that_is_not_below_the_old_parent_stays() -> None:
    additions = Additions((MILK,), (("organic", "milk"),), moves=(Move("tea", "organic", "milk"),))
    validated = validate_additions(DRINKS, additions)
    assert validated.additions.moves == ()
    assert validated.rejected == [
        "'tea' is not moved from 'organic' below 'milk': it is not below that parent"
    ]


def test_a_new_concept_does_not_move() -> None:
    tea = Concept("white tea", "white tea")
    relations = (("drink", "milk"), ("drink", "white tea"))
    moves = (Move("white tea", "drink", "milk"),)
    validated = validate_additions(DRINKS, Additions((MILK, tea), relations, moves=moves))
    assert validated.additions.moves == ()
    (message,) = validated.rejected
    assert message.startswith("'white tea' is not moved from 'drink' below 'milk': it is new, too")


def test_a_child_that_is_above_its_new_parent_stays() -> None:
    relations = (("drink", "milk"), ("tea", "milk"))
    additions = Additions((MILK,), relations, moves=(Move("tea", "drink", "milk"),))
    validated = validate_additions(DRINKS, additions)
    assert validated.rejected == [
        "'tea' is not moved from 'drink' below 'milk': the new parent would be below it"
    ]
    assert DRINKS.expanded(validated.additions).parents("milk") == ("drink", "tea")


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
    validated = validate_additions(old, Additions(new, relations, moves=moves))
    assert validated.additions.moves == moves[:1]
    assert len(old.expanded(validated.additions)) == 7


def test_known_names_are_not_added_as_synonyms() -> None:
    names = ("Eggplant", "brinjal", "Brinjal", "milk", "tea")
    additions = Additions(
        (MILK,), (("drink", "milk"),), synonyms=tuple(("aubergine", name) for name in names)
    )
    validated = validate_additions(DRINKS, additions)
    assert validated.additions.synonyms == (("aubergine", "brinjal"),)
    owners = ("aubergine", "aubergine", "milk", "tea")
    assert validated.rejected == [
        f"{name!r} is not added as a synonym: it is already a name of {owner!r}"
        for name, owner in zip(("Eggplant", "Brinjal", "milk", "tea"), owners, strict=True)
    ]
    grown = DRINKS.expanded(validated.additions).concept("aubergine")
    assert grown.synonyms == ("eggplant", "brinjal")


def test_a_new_concept_gets_the_synonyms_of_what_is_merged_with_it() -> None:
    names = (("milk", "mylk"), ("milk", "tea"), ("aubergine", "brinjal"))
    additions = Additions((MILK,), (("drink", "milk"),), synonyms=names)
    validated = validate_additions(DRINKS, additions)
    assert validated.additions.synonyms == (("aubergine", "brinjal"),)
    assert DRINKS.expanded(validated.additions).concept("milk").synonyms == ("mylk",)
    assert validated.rejected == ["'tea' is not added as a synonym: it is already a name of 'tea'"]


@pytest.mark.parametrize(
    ("additions", "message"),
    [
        (
            Additions((MILK,), (("drink", "milk"),), moves=(Move("x", "drink", "milk"),)),
            "'x', which would move below 'milk', is not in the taxonomy; were the suggestions",
        ),
        (
            Additions((), (), synonyms=(("x", "y"),)),
            "'x', which would get the synonym 'y', is not in the taxonomy; were the sugg",
        ),
    ],
)
def test_moves_and_synonyms_of_another_taxonomy_are_refused(
    additions: Additions, message: str
) -> None:
    with pytest.raises(TaxonomyError, match=message):
        validate_additions(DRINKS, additions)


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
    validated = validate_additions(
        taxonomy, Additions([Concept("q", "milk")], relations, moves=moves)
    )
    assert validated.additions.moves == (moves[0],)
    (reason,) = validated.rejected
    assert (
        "already moves below 'milk', and keeps this parent; remove that relation by hand" in reason
    )
