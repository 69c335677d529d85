"""What `expand` decides about suggestions, and that `apply` then adds the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taxoexpan.errors import ConfigurationError
from tests.support.builders import tree
from tests.support.decisions import Row, apply, decided_by_expand, table, table_of

FOOD = tree("food > fruit > apple")
COLUMNS = "query,rank,parent_id,score,confidence,place"
SURE = ("kiwi,1,fruit,0.3,0.5,", "kiwi,2,food,0.15,0.2,")
UNSURE = ("fig,1,fruit,0.3,0.49,", "fig,2,food,0.15,0.3,")
NOWHERE = ("bolt,1,fruit,0.3,0.9,none", "bolt,2,food,0.15,0.1,none")
ALL = table(COLUMNS, *SURE, *UNSURE, *NOWHERE)
UNKNOWN = table(COLUMNS, "kiwi,1,fruit,0.3,,", "fig,1,food,0.2,,", "bolt,1,food,0.2,,none")


def verdicts(rows: list[Row]) -> dict[str, list[str]]:
    """The decisions about the rows of each new concept."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["query"], []).append(row["decision"])
    return found


ACCEPTED = ["accepted", ""]
UNDECIDED = ["undecided", "undecided"]


@pytest.mark.parametrize(
    ("options", "kiwi", "fig", "bolt"),
    [
        ({}, ACCEPTED, UNDECIDED, UNDECIDED),
        ({"exact_only": True}, ACCEPTED, UNDECIDED, UNDECIDED),
        ({"top_k": 2}, ACCEPTED, UNDECIDED, UNDECIDED),
        ({"min_confidence": 0.0}, ACCEPTED, ACCEPTED, ACCEPTED),
        ({"min_confidence": 0.8}, UNDECIDED, UNDECIDED, ACCEPTED),
        ({"min_score": 0.4}, UNDECIDED, UNDECIDED, UNDECIDED),
    ],
)
def test_first_parents_are_accepted_if_they_are_sure_and_suitable_or_reach_a_given_threshold(
    options: dict[str, Any], kiwi: list[str], fig: list[str], bolt: list[str]
) -> None:
    decided = verdicts(decided_by_expand(FOOD, ALL, **options))
    assert decided == {"kiwi": kiwi, "fig": fig, "bolt": bolt}


def test_a_second_parent_must_be_sure_too() -> None:
    rows = table(COLUMNS, *SURE, "plum,1,fruit,0.5,0.9,", "plum,2,food,0.4,0.6,")
    decided = verdicts(decided_by_expand(FOOD, rows, top_k=2))
    assert decided == {"kiwi": ACCEPTED, "plum": ["accepted", "accepted"]}


def test_without_a_confidence_everything_with_a_suitable_parent_is_accepted() -> None:
    decided = verdicts(decided_by_expand(FOOD, UNKNOWN))
    assert decided == {"kiwi": ["accepted"], "fig": ["accepted"], "bolt": ["undecided"]}
    with pytest.raises(ConfigurationError) as refused:
        decided_by_expand(FOOD, UNKNOWN, min_confidence=0.1)
    assert "confidence" in refused.value.problem
    assert "score" in refused.value.fix


def test_a_likely_synonym_is_left_to_the_permission_to_merge() -> None:
    header = f"{COLUMNS},kind"
    rows = table(header, "apfel,1,apple,0.8,0.8,,merge", "apfel,2,fruit,0.3,0.3,,attach")
    assert verdicts(decided_by_expand(FOOD, rows)) == {"apfel": ["", ""]}


@pytest.mark.parametrize(
    "options", [{}, {"top_k": 2}, {"min_score": 0.2}, {"min_confidence": 0.0}, {"exact_only": True}]
)
@pytest.mark.parametrize("rows", [ALL, UNKNOWN], ids=["confidence", "no confidence"])
def test_apply_adds_what_expand_has_accepted(
    tmp_path: Path, rows: str, options: dict[str, Any]
) -> None:
    if "min_confidence" in options and rows == UNKNOWN:
        options = {"min_score": 0.0}
    decided = decided_by_expand(FOOD, rows, **options)
    applied = apply(tmp_path, FOOD, table_of(decided))
    placed: dict[str, list[str]] = {}
    for row in decided:
        if row["decision"] == "accepted":
            placed.setdefault(row["query"], []).append(row["parent_id"])
    assert applied.placed == placed
    assert applied.left_out == len({row["query"] for row in decided}) - len(placed)


# ---- names that are similar to those of existing concepts -----------------------------------

MENU = tree("food > drink > cocktail > martini", "food > fruit > apple")
LIKE = "martinis,1,martini,,0.9,,similar,{decision},"
SURE_PLACE = "martinis,2,martini,food > drink > cocktail > martini,0.9,0.99,attach,{decision}," + (
    "1 > 0.99 > 0.99 > 0.99"
)
SIMILAR_COLUMNS = "query,rank,parent_id,path,score,confidence,kind,decision,levels"


def similar_rows(first: str = "", second: str = "") -> str:
    """A concept whose name is like that of a martini, with these decisions."""
    return table(SIMILAR_COLUMNS, LIKE.format(decision=first), SURE_PLACE.format(decision=second))


@pytest.mark.parametrize("options", [{}, {"exact_only": True}, {"min_confidence": 0.5}])
def test_a_concept_with_a_similar_name_waits_for_a_person(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    decided = decided_by_expand(MENU, similar_rows(), allow_merges=True, **options)
    assert verdicts(decided) == {"martinis": UNDECIDED}
    for rows in (similar_rows(), table_of(decided)):
        for option in ([], ["--all"]):
            applied = apply(tmp_path, MENU, rows, "--allow-merges", *option)
            assert applied.new == MENU
            assert applied.left_out == 1
            assert "similar to an existing concept" in applied.messages


@pytest.mark.parametrize(
    ("first", "second", "placed", "synonyms"),
    [
        ("", "accepted", {"martinis": ["martini"]}, {}),
        ("accepted", "", {}, {"martini": ["martinis"]}),
        ("rejected", "", {"martinis": ["martini"]}, {}),
    ],
)
def test_a_person_decides_about_a_similar_name(
    tmp_path: Path,
    first: str,
    second: str,
    placed: dict[str, list[str]],
    synonyms: dict[str, list[str]],
) -> None:
    applied = apply(tmp_path, MENU, similar_rows(first, second), "--allow-merges")
    assert (applied.placed, applied.synonyms) == (placed, synonyms)


def test_a_similar_name_is_decided_about_by_removing_its_row(tmp_path: Path) -> None:
    rows = table(SIMILAR_COLUMNS, SURE_PLACE.format(decision=""))
    assert apply(tmp_path, MENU, rows).placed == {"martinis": ["martini"]}
