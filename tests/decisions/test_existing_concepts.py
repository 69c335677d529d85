"""New concepts whose names or ids the taxonomy has already, and the ids of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import Concept, Taxonomy
from tests.support.builders import tree
from tests.support.decisions import apply, refusal, table

FOOD = Taxonomy(
    [Concept("f", "fruit"), Concept("a", "apple"), Concept("d", "Husky Dog")], [("f", "a")]
)
COLUMNS = "query,query_id,rank,parent_id,parent_label"


@pytest.mark.parametrize(
    "row", ["apple,a,1,f,", "Apple,new:apple,1,f,", "husky-dog,9,1,f,", "HUSKY DOG,,,f,"]
)
def test_a_concept_that_the_taxonomy_has_is_not_added_again(tmp_path: Path, row: str) -> None:
    applied = apply(tmp_path, FOOD, table(COLUMNS, row, "kiwi,k,1,f,"))
    assert applied.placed == {"kiwi": ["f"]}
    assert applied.moved == {}
    assert "already present" in applied.messages
    assert applied.left_out == 0


def test_a_parent_that_the_taxonomy_has_under_another_id_is_found_by_its_name(
    tmp_path: Path,
) -> None:
    """It was new when it was decided about, and somebody has added it since."""
    rows = table(
        f"{COLUMNS},kind",
        "Apple,new:apple,1,f,,attach",
        "russet,k,1,new:apple,,attach",
        "pomme,p,1,new:apple,,merge",
    )
    applied = apply(tmp_path, FOOD, rows, "--allow-merges")
    assert applied.placed == {"russet": ["a"]}
    assert applied.synonyms == {"a": ["pomme"]}


def test_a_concept_that_the_taxonomy_has_moves_nothing(tmp_path: Path) -> None:
    drinks = tree("drink > milk", "drink > oat milk")
    rows = table("query,parent_id,kind,moves", "Milk,drink,insert,oat milk")
    applied = apply(tmp_path, drinks, rows, "--allow-moves")
    assert applied.new == drinks


def test_a_concept_may_be_added_below_its_namesake_if_a_curator_says_so(tmp_path: Path) -> None:
    """Milk of a drink and milk of a dairy may be two concepts."""
    rows = "query,query_id,parent_id,curator"
    placed = apply(tmp_path, FOOD, table(rows, "apple,,d,Ada", "Apple,,f,Ada"))
    assert placed.placed == {"apple": ["d"]}
    assert "already present" in placed.messages


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("kiwi,k,1,ghost,", ("'ghost'", "not in the taxonomy")),
        ("kiwi,a,1,f,", ("'a'", "'kiwi'", "belongs to 'apple'")),
        ("kiwi,k,1,f,vegetable", ("line 3", "'fruit'", "'vegetable'", "'kiwi'")),
    ],
)
def test_suggestions_for_another_taxonomy_are_refused(
    tmp_path: Path, row: str, words: tuple[str, ...]
) -> None:
    message = refusal(tmp_path, FOOD, table(COLUMNS, "fig,g,1,f,fruit", row))
    for word in words:
        assert word in message


@pytest.mark.parametrize("row", ["kiwi,k,1,f,", "kiwi,k,,f,vegetable"])
def test_the_id_of_a_parent_counts_more_than_a_label_of_ones_own(tmp_path: Path, row: str) -> None:
    assert apply(tmp_path, FOOD, table(COLUMNS, row)).placed == {"kiwi": ["f"]}


def test_rows_of_one_name_without_an_id_share_a_free_one(tmp_path: Path) -> None:
    codes = Taxonomy([Concept("C1", "food"), Concept("C2", "fruit")], [("C1", "C2")])
    rows = table("query,query_id,parent_id", "mango,C3,C1", "kiwi,,C1", "fig,,C1", "kiwi,,C2")
    applied = apply(tmp_path, codes, rows)
    assert applied.new.ids == ("C1", "C2", "C3", "C4", "C5")
    assert applied.new.labels == ("food", "fruit", "mango", "kiwi", "fig")
    assert applied.placed == {"mango": ["C1"], "kiwi": ["C1", "C2"], "fig": ["C1"]}


def test_new_ids_are_made_of_the_ids_of_the_chosen_parents(tmp_path: Path) -> None:
    ids = ("hg", *(f"hg-{number}" for number in range(1, 7)))
    codes = Taxonomy([Concept(id, f"food {id}") for id in ids], [("hg", id) for id in ids[1:]])
    rows = table(COLUMNS, "kiwi,,1,hg-1,", "fig,own,1,hg-2,")
    applied = apply(tmp_path, codes, rows)
    assert set(applied.new) - set(codes) == {"hg-1-1", "own"}
    assert applied.placed == {"kiwi": ["hg-1"], "fig": ["hg-2"]}
