"""Which suggestions `apply` adds, by rank, threshold and a person's decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import ConfigurationError
from tests.support.builders import tree
from tests.support.decisions import apply, refusal, table

FOOD = tree("food > fruit > apple")
SCORED = "query,rank,parent_id,score,confidence"
TWO = (
    "kiwi,1,fruit,0.5,0.5",
    "kiwi,2,food,0.3,0.2",
    "fig,1,food,0.4,0.7",
    "fig,2,fruit,0.1,0.1",
)


@pytest.mark.parametrize(
    ("options", "placed"),
    [
        ("", {"kiwi": ["fruit"], "fig": ["food"]}),
        ("--top-k 2 --all", {"kiwi": ["fruit", "food"], "fig": ["food", "fruit"]}),
        ("--min-score 0.5", {"kiwi": ["fruit"]}),
        ("--min-score 1", {}),
        ("--min-confidence 0.6", {"fig": ["food"]}),
        ("--min-score 0.5 --min-confidence 0.6", {}),
        ("--top-k 2 --min-score 0.3", {"kiwi": ["fruit", "food"], "fig": ["food"]}),
        ("--top-k 2 --min-confidence 0.2", {"kiwi": ["fruit", "food"], "fig": ["food"]}),
    ],
)
def test_the_first_parents_that_reach_all_thresholds_are_added(
    tmp_path: Path, options: str, placed: dict[str, list[str]]
) -> None:
    applied = apply(tmp_path, FOOD, table(SCORED, *TWO), *options.split())
    assert applied.placed == placed
    assert applied.moved == {}
    assert applied.left_out == 2 - len(placed)


def test_a_relation_that_is_suggested_twice_is_added_once(tmp_path: Path) -> None:
    rows = table(SCORED, TWO[0], TWO[0])
    assert apply(tmp_path, FOOD, rows).placed == {"kiwi": ["fruit"]}


def test_a_minimum_confidence_needs_a_confidence_but_not_of_rows_of_ones_own(
    tmp_path: Path,
) -> None:
    own = "plum,,fruit,,"
    applied = apply(tmp_path, FOOD, table(SCORED, *TWO, own), "--min-confidence", "0.6")
    assert applied.placed == {"fig": ["food"], "plum": ["fruit"]}
    unknown = table(SCORED, "kiwi,1,fruit,0.5,", own)
    assert "confidence" in refusal(tmp_path, FOOD, unknown, "--min-confidence", "0.1")


@pytest.mark.parametrize("name", ["min_score", "min_confidence"])
@pytest.mark.parametrize("value", [-0.1, 1.01, float("nan"), "0.5"])
def test_a_threshold_is_a_number_from_0_to_1(model: TaxoExpan, name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        model.expand(["nut milk"], **{name: value})  # type: ignore[arg-type]
    assert name in refused.value.problem


@pytest.mark.parametrize("name", ["exact_only", "allow_moves", "allow_merges"])
def test_a_permission_is_true_or_false(model: TaxoExpan, name: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        model.expand(["nut milk"], **{name: 1})  # type: ignore[arg-type]
    assert name in refused.value.problem


# ---- a person's decisions -------------------------------------------------------------------


def test_an_accepted_row_and_a_row_without_a_rank_are_decisions(tmp_path: Path) -> None:
    """The cells of a table say which rows are a person's: see the page on CSV columns."""
    rows = table(
        "query,rank,decision,parent_id,score",
        "open,1,,fruit,0.1",
        "accepted,1,Accepted,fruit,0.1",
        "undecided,1,undecided,fruit,0.1",
        "rejected,1,rejected,fruit,0.1",
        "own,,,fruit,0.1",
        "own undecided,,undecided,fruit,0.1",
        "own rejected,,rejected,fruit,0.1",
    )
    decided = {"accepted", "own", "own undecided"}
    assert apply(tmp_path, FOOD, rows).placed.keys() == {*decided, "open"}
    assert apply(tmp_path, FOOD, rows, "--min-score", "0.2").placed.keys() == decided
    everything = apply(tmp_path, FOOD, rows, "--all")
    assert everything.placed.keys() == {*decided, "open", "undecided"}


@pytest.mark.parametrize("options", ["", "--top-k 2 --min-score 0.5", "--all"])
def test_decided_rows_are_added_alone_whatever_their_rank_and_the_thresholds(
    tmp_path: Path, options: str
) -> None:
    rows = table(
        "query,rank,decision,parent_id,score",
        "kiwi,1,,fruit,0.6",
        "kiwi,2,accepted,food,0.3",
        "fig,1,accepted,fruit,0.2",
        "fig,2,accepted,food,0.1",
        "husky,1,,fruit,0.9",
        "husky,,,food,",
        "plum,,,food,",
        "plum,,,fruit,",
    )
    assert apply(tmp_path, FOOD, rows, *options.split()).placed == {
        "kiwi": ["food"],
        "fig": ["fruit", "food"],
        "husky": ["food"],
        "plum": ["food", "fruit"],
    }


def test_a_row_of_ones_own_counts_before_undecided_ones(tmp_path: Path) -> None:
    rows = table("query,rank,decision,parent_id", "kiwi,1,undecided,fruit", "kiwi,,undecided,food")
    for options in ([], ["--all"]):
        assert apply(tmp_path, FOOD, rows, *options).placed == {"kiwi": ["food"]}


def test_the_next_row_counts_as_accepted_if_the_first_was_removed(tmp_path: Path) -> None:
    rows = table(SCORED, "kiwi,2,food,0.3,0.2", "kiwi,3,fruit,0.1,0.1", "fig,1,food,0.4,0.2")
    applied = apply(tmp_path, FOOD, rows)
    assert applied.placed == {"kiwi": ["food"]}
    assert "not sure enough" in applied.messages


def test_the_next_row_counts_as_accepted_if_the_first_was_rejected(tmp_path: Path) -> None:
    rows = table("query,rank,decision,parent_id", "kiwi,1,rejected,fruit", "kiwi,2,,food")
    assert apply(tmp_path, FOOD, rows, "--all").placed == {"kiwi": ["food"]}


# ---- new concepts below other new concepts --------------------------------------------------

CHAIN = "query,query_id,rank,decision,parent_id,score"


@pytest.mark.parametrize(
    ("first", "placed"),
    [
        ("accepted", {"berry", "red berry", "currant", "plum"}),
        ("", {"plum"}),
        ("undecided", {"plum"}),
        ("rejected", {"plum"}),
    ],
)
def test_children_of_a_concept_that_is_not_added_are_not_added(
    tmp_path: Path, first: str, placed: set[str]
) -> None:
    rows = table(
        CHAIN,
        f"berry,b,1,{first},fruit,0.2",
        "red berry,r,1,,b,0.9",
        "currant,c,1,accepted,r,0.8",
        "plum,p,1,,fruit,0.7",
    )
    applied = apply(tmp_path, FOOD, rows, "--min-score", "0.5")
    assert applied.placed.keys() == placed
    if "currant" in placed:
        assert applied.placed["currant"] == ["r"]


def test_every_new_concept_is_added_present_a_synonym_or_left_out(tmp_path: Path) -> None:
    attached = [f"{label},1,fruit,0.9,attach" for label in ("kiwi", "fig", "Apple")]
    merged = [f"{label},1,apple,0.9,merge" for label in ("apfel", "pomme")]
    doubtful = [f"{label},1,fruit,0.1,attach" for label in ("bolt", "nut", "screw")]
    rows = table("query,rank,parent_id,score,kind", *attached, *merged, *doubtful)
    applied = apply(tmp_path, FOOD, rows, "--min-score", "0.5")
    assert applied.placed == {"kiwi": ["fruit"], "fig": ["fruit"]}
    lines = applied.messages.splitlines()
    (present,) = (line for line in lines if "already present" in line)
    assert "'Apple'" in present
    for label in ("apfel", "pomme"):
        assert [line for line in lines if f"'{label}'" in line and "synonym" in line]
    assert applied.left_out == 3
    assert "2 concepts and 2 relations added" in lines[-1]
