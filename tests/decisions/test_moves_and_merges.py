"""Children that move below a new concept, and new concepts that become synonyms."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import Concept, Suggestion, Taxonomy
from taxoexpan.errors import CycleError
from taxoexpan.taxonomy import Additions, Move
from tests.support.builders import own, tree
from tests.support.decisions import SuggestionKind, apply, expanded, refusal, table
from tests.support.strategies import Growth, growths, insertions, quickly

DRINKS = tree(
    "drink > tea",
    "drink > organic oat milk",
    "organic > organic oat milk",
    "aubergine",
    synonyms={"aubergine": ("eggplant",)},
)
COLUMNS = "query,query_id,rank,parent_id,score,confidence,kind,moves"
BOTH = ("--allow-moves", "--allow-merges")


def test_moves_and_merges_must_be_allowed(tmp_path: Path) -> None:
    rows = table(COLUMNS, "milk,,1,drink,0.5,,insert,tea", "brinjal,,1,aubergine,0.9,0.9,merge,")
    moved = {"tea": ["milk"]}
    named = {"aubergine": ["brinjal"]}
    for options, moves, synonyms in (
        ((), {}, {}),
        (("--allow-moves",), moved, {}),
        (("--allow-merges",), {}, named),
        (BOTH, moved, named),
    ):
        applied = apply(tmp_path, DRINKS, rows, *options)
        assert applied.placed == {"milk": ["drink"]}
        assert applied.moved == moves
        assert applied.synonyms == synonyms


# ---- moves ----------------------------------------------------------------------------------


def test_an_insert_that_is_not_accepted_moves_nothing(tmp_path: Path) -> None:
    rows = table(COLUMNS, "milk,,1,tea,0.5,,attach,", "milk,,2,drink,0.5,,insert,tea")
    assert apply(tmp_path, DRINKS, rows, "--allow-moves").moved == {}


CLAIMS = (
    "milk,,1,drink,0.9,,insert,tea|organic oat milk",
    "oat milk,,1,drink,0.2,,insert,organic oat milk",
    "wet,,1,drink,0.3,,insert,tea",
)


@pytest.mark.parametrize("order", [*permutations(CLAIMS)])
def test_the_longer_name_gets_a_child_that_two_new_concepts_claim(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    """Oat milk is more specific than milk."""
    applied = apply(tmp_path, DRINKS, table(COLUMNS, *order), "--allow-moves")
    assert applied.moved == {"organic oat milk": ["oat milk", "organic"], "tea": ["milk"]}
    refused = [line for line in applied.messages.splitlines() if "already moves" in line]
    assert len(refused) == 2
    (milk,) = (line for line in refused if "'organic oat milk' is not moved" in line)
    assert "'oat milk'" in milk.partition("already moves")[2]


def test_a_persons_own_insert_comes_first_and_then_the_more_confident_one(tmp_path: Path) -> None:
    rows = ["tees,,1,drink,0.2,,insert,tea", "leaf,,1,drink,0.9,,insert,tea"]
    applied = apply(tmp_path, DRINKS, table(COLUMNS, *rows), "--allow-moves")
    assert applied.moved == {"tea": ["leaf"]}
    own_row = "t,,,drink,0,,insert,tea"
    applied = apply(tmp_path, DRINKS, table(COLUMNS, *rows, own_row), "--allow-moves")
    assert applied.moved == {"tea": ["t"]}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["milk,,1,organic,0.5,,insert,tea"], "not below that parent"),
        (["milk,,,tea,,,attach,", "milk,,,drink,,,insert,tea"], "below it"),
    ],
)
def test_an_unsafe_move_is_refused_with_a_reason(
    tmp_path: Path, rows: list[str], reason: str
) -> None:
    applied = apply(tmp_path, DRINKS, table(COLUMNS, *rows), "--allow-moves")
    assert applied.moved == {}
    assert "milk" in applied.placed
    (line,) = (line for line in applied.messages.splitlines() if "not moved" in line)
    assert "'milk'" in line
    assert reason in line


def test_a_new_concept_does_not_move() -> None:
    """It may have become new after the decision, when the older version was restored."""
    white_tea = Concept("w", "white tea")
    insert = own("milk", "drink", kind=SuggestionKind.INSERT, moves=("w",))
    new, (reason,) = expanded(DRINKS, [own(white_tea, "drink"), insert], allow_moves=True)
    assert new.parents("w") == ("drink",)
    assert "'white tea'" in reason
    assert "new, too" in reason


def test_a_child_of_two_parents_leaves_one_and_keeps_the_other(tmp_path: Path) -> None:
    shop = tree("drink > oat milk", "vegan > oat milk")
    rows = [f"milk,,,{parent},,,insert,oat milk" for parent in ("drink", "vegan")]
    applied = apply(tmp_path, shop, table(COLUMNS, *rows), "--allow-moves")
    assert applied.moved == {"oat milk": ["milk", "vegan"]}
    (line,) = (line for line in applied.messages.splitlines() if "not moved" in line)
    assert "'vegan'" in line
    assert "keeps this parent" in line


def test_of_two_moves_that_make_a_cycle_together_one_is_made(tmp_path: Path) -> None:
    old = tree("p > a > under a", "p > b > under b")
    rows = table(
        COLUMNS,
        *("q,,,p,,,insert,a", "q,,,under b,,,attach,"),
        *("r,,,p,,,insert,b", "r,,,under a,,,attach,"),
    )
    new = (Concept("q", "q"), Concept("r", "r"))
    relations = (("p", "q"), ("under b", "q"), ("p", "r"), ("under a", "r"))
    with pytest.raises(CycleError):
        old.expanded(Additions(new, relations, moves=(Move("a", "p", "q"), Move("b", "p", "r"))))
    applied = apply(tmp_path, old, rows, "--allow-moves")
    assert applied.moved == {"a": ["q"]}
    assert applied.placed == {"q": ["p", "under b"], "r": ["p", "under a"]}


def test_children_to_move_must_exist(tmp_path: Path) -> None:
    rows = table(COLUMNS, "kefir,,1,drink,,,attach,", "milk,,1,drink,,,insert,tea|99")
    message = refusal(tmp_path, DRINKS, rows, "--allow-moves")
    assert "decisions.csv, line 3" in message
    assert "'99'" in message
    assert apply(tmp_path, DRINKS, rows).placed.keys() == {"kefir", "milk"}


IDS = st.text("abcdefgh", min_size=1, max_size=4)


def decisions_of(growth: Growth) -> list[Suggestion]:
    """A person's decisions to add all that is new, below all its parents and with all its moves."""
    decided = []
    for concept in growth.additions.concepts:
        parents = [parent for parent, child in growth.additions.relations if child == concept.id]
        for parent in parents or [growth.old.ids[0]]:
            claimed = [
                move.child
                for move in growth.additions.moves
                if move.new_parent == concept.id and move.old_parent == parent
            ]
            kind = SuggestionKind.INSERT if claimed else SuggestionKind.ATTACH
            decided.append(own(concept, parent, kind=kind, moves=tuple(claimed)))
    return decided


def with_moves(growth: Growth) -> tuple[Taxonomy, list[tuple[str, str]], list[str]]:
    """Return the expanded taxonomy, the (child, old parent) of every move, and the refusals."""
    new, refused = expanded(growth.old, decisions_of(growth), allow_moves=True)
    left = set(growth.old.relations) - set(new.relations)
    return new, [(child, parent) for parent, child in left], refused


@given(insertions(growths(IDS)))
@quickly
def test_a_moved_child_keeps_all_its_ancestors(growth: Growth) -> None:
    new, moved, _ = with_moves(growth)
    claimed = {(move.child, move.old_parent) for move in growth.additions.moves}
    assert set(moved) <= claimed
    for id in growth.old:
        assert set(growth.old.ancestors(id)) <= set(new.ancestors(id))
    decided = {(each.parent.id, each.query.id) for each in decisions_of(growth)}
    assert decided <= set(new.relations)
    # A move replaces one relation by another.
    assert len(set(new.relations)) == len(growth.old.relations) + len(decided)


@given(insertions(growths(IDS)))
@quickly
def test_a_move_is_refused_only_for_a_reason_that_is_reported(growth: Growth) -> None:
    new, moved, refused = with_moves(growth)
    claims = set(growth.additions.moves)
    assert len(moved) + len(refused) == len(claims)
    children = [child for child, _ in moved]
    assert len(children) == len(set(children))
    decided = decisions_of(growth)
    additions = replace(
        growth.additions,
        relations=tuple(dict.fromkeys((each.parent.id, each.query.id) for each in decided)),
    )
    made = [move for move in claims if (move.new_parent, move.child) in set(new.relations)]
    made = [move for move in made if (move.child, move.old_parent) in moved]
    for move in claims:
        if move.child not in children:
            # Together with the moves that were made, it would make a cycle.
            with pytest.raises(CycleError):
                growth.old.expanded(replace(additions, moves=(*made, move)))


@given(insertions(growths(IDS, most_parents=1), most_parents=1))
@quickly
def test_every_claimed_child_moves_if_new_concepts_have_one_parent(growth: Growth) -> None:
    _, moved, _ = with_moves(growth)
    assert {child for child, _ in moved} == {move.child for move in growth.additions.moves}


# ---- merges ---------------------------------------------------------------------------------


def test_a_merge_below_a_threshold_is_left_out(tmp_path: Path) -> None:
    rows = table(COLUMNS, "pommes,,1,tea,0.6,,merge,", "pommes,,2,drink,0.7,,attach,")
    merged = apply(tmp_path, DRINKS, rows, "--allow-merges", "--min-score", "0.5")
    assert (merged.placed, merged.synonyms) == ({}, {"tea": ["pommes"]})
    attached = apply(tmp_path, DRINKS, rows, "--allow-merges", "--min-score", "0.65")
    assert (attached.placed, attached.synonyms) == ({"pommes": ["drink"]}, {})


@pytest.mark.parametrize(
    ("merge", "attach", "option", "placed"),
    [
        ("1,tea,0.88", "2,drink,0.4", "", {}),
        ("1,tea,0.88", "2,drink,0.4", "--min-confidence 0.95", {}),
        ("2,tea,0.88", "1,drink,0.95", "", {"cha": ["drink"]}),
    ],
)
def test_a_concept_that_is_probably_a_synonym_is_not_attached(
    tmp_path: Path, merge: str, attach: str, option: str, placed: dict[str, list[str]]
) -> None:
    columns = "query,rank,parent_id,confidence,kind"
    rows = table(columns, f"cha,{merge},merge", f"cha,{attach},attach")
    assert apply(tmp_path, DRINKS, rows, *option.split()).placed == placed


MERGES = (
    "Brew,1,1,tea,0.6,,merge,",
    "brew,2,1,drink,0.9,,merge,",
    "chai,3,1,drink,0.9,,merge,",
    "CHAI,4,,tea,0.2,,merge,",
)


@pytest.mark.parametrize("order", [MERGES, MERGES[::-1]])
def test_a_name_goes_to_the_persons_own_and_then_to_the_more_confident_merge(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    applied = apply(tmp_path, DRINKS, table(COLUMNS, *order), "--allow-merges")
    assert applied.synonyms == {"drink": ["brew"], "tea": ["CHAI"]}


def test_a_merge_adds_the_synonyms_of_the_new_concept(tmp_path: Path) -> None:
    rows = table("query,parent_id,kind,synonyms", "brinjal,aubergine,merge,melongene|eggfruit")
    applied = apply(tmp_path, DRINKS, rows, "--allow-merges")
    assert applied.synonyms == {"aubergine": ["brinjal", "melongene", "eggfruit"]}


def test_names_that_are_in_use_are_not_added_as_synonyms(tmp_path: Path) -> None:
    names = {"Eggplant": "aubergine", "brinjal": "", "Brinjal": "aubergine", "milk": "milk"}
    names["tea"] = "tea"
    merges = [
        f"{name},{number},1,aubergine,0.{9 - number},,merge," for number, name in enumerate(names)
    ]
    rows = table(COLUMNS, "milk,m,1,drink,0.9,,attach,", *merges)
    applied = apply(tmp_path, DRINKS, rows, "--allow-merges")
    assert applied.synonyms == {"aubergine": ["brinjal"]}
    lines = applied.messages.splitlines()
    refused = [line for line in lines if "not added as a synonym" in line]
    for name, owner in names.items():
        found = [line for line in refused if f"{name!r} is not" in line]
        assert len(found) == bool(owner)
        assert not owner or f"name of {owner!r}" in found[0]


def test_a_new_concept_gets_the_names_of_what_is_merged_with_it(tmp_path: Path) -> None:
    rows = table(
        COLUMNS,
        "milk,m,1,drink,0.9,,attach,",
        *("mylk,1,1,m,0.9,,merge,", "tea,2,1,m,0.9,,merge,", "brinjal,3,1,aubergine,0.9,,merge,"),
    )
    applied = apply(tmp_path, DRINKS, rows, "--allow-merges")
    assert applied.new.concept("m").synonyms == ("mylk",)
    assert applied.synonyms == {"aubergine": ["brinjal"]}
    assert "'tea' is not added as a synonym" in applied.messages


def test_a_merge_with_a_concept_of_another_taxonomy_is_refused(tmp_path: Path) -> None:
    rows = table(COLUMNS, "brinjal,,1,ghost,0.9,,merge,")
    message = refusal(tmp_path, DRINKS, rows, "--allow-merges")
    assert "'ghost'" in message
    assert "not in the taxonomy" in message


@pytest.mark.parametrize(
    ("row", "subject", "justification", "confidence"),
    [
        ("lait,7,1,tea,0.5,0.9,merge,", "id:7", "CompositeMatching", "0.9"),
        ("lait,8,,tea,,,merge,", "", "ManualMappingCuration", ""),
    ],
)
def test_a_merge_is_recorded_as_a_mapping(
    tmp_path: Path, row: str, subject: str, justification: str, confidence: str
) -> None:
    """Only a list of new concepts says that an id is their own, and not a provisional one."""
    listed = tmp_path / "new.csv"
    listed.write_text("label,id\nlait,7\n", encoding="utf-8")
    mappings = tmp_path / "merges.sssom.tsv"
    apply(tmp_path, DRINKS, table(COLUMNS, row), "--concepts", listed, "--changes", mappings)
    lines = [line for line in mappings.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    header, cells = (line.split("\t") for line in lines)
    mapping = dict(zip(header, cells, strict=True))
    assert mapping["subject_label"] == "lait"
    assert (mapping.get("subject_id", ""), mapping["object_id"]) == (subject, "id:tea")
    assert mapping["mapping_justification"].endswith(justification)
    assert mapping.get("confidence", "") == confidence
