"""Concepts are placed as deep as is sure, given the probability of every branch on the path."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import Concept, Suggestion, Taxonomy
from tests.support.builders import tree
from tests.support.decisions import Row, apply, decided_by_expand, table, table_of

MENU = tree(
    "food > drink > cocktail > martini",
    *("food > fruit > apple", "food > fruit > pear", "food > fruit > plum"),
)
COLUMNS = "query,rank,parent_id,path,score,confidence,levels,sure_from,place,decision,kind"
MARTINI = "food > drink > cocktail > martini"
LEVELS = "1 > 0.97 > 0.82 > 0.51"


def first(
    query: str = "espresso martini",
    levels: str = LEVELS,
    sure_from: str = "",
    place: str = "",
    decision: str = "",
    confidence: str = "0.5",
    rank: int | str = 1,
) -> str:
    """The row that suggests to put a concept below martini."""
    cells = f"{query},{rank},martini,{MARTINI},0.4,{confidence},{levels},{sure_from},{place}"
    return f"{cells},{decision},attach"


def second(decision: str = "", rank: str = "2") -> str:
    """The row that suggests to put it below fruit instead."""
    path = "food > fruit"
    return f"espresso martini,{rank},fruit,{path},0.1,0.01,1 > 0.02,,,{decision},attach"


BOTH = table(COLUMNS, first(), second())


def accepted(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["decision"] == "accepted"]


@pytest.mark.parametrize(
    ("sure_from", "parent"),
    [(0.99, None), (0.9, "drink"), (0.82, "cocktail"), (0.8, "cocktail"), (0.51, "martini")],
)
def test_a_concept_is_placed_as_deep_as_is_sure(
    tmp_path: Path, sure_from: float, parent: str | None
) -> None:
    placed = {"espresso martini": [parent]} if parent else {}
    # The file of `suggest` has the threshold; `expand` has computed it.
    suggested = table(COLUMNS, first(sure_from=str(sure_from)), second())
    by_expand = table_of(decided_by_expand(MENU, BOTH, min_branch=sure_from))
    for rows in (suggested, by_expand):
        applied = apply(tmp_path, MENU, rows)
        assert applied.placed == placed
        assert applied.left_out == (parent is None)


@pytest.mark.parametrize(("min_branch", "depth"), [(0.9, 2), (0.8, 3)])
def test_a_coarse_placement_is_a_row_of_its_own_after_the_suggestions(
    min_branch: float, depth: int
) -> None:
    given = table(COLUMNS, first(), second(), first("white tea"))
    rows = decided_by_expand(MENU, given, min_branch=min_branch)
    row = rows[2]
    assert [row["query"] for row in rows] == ["espresso martini"] * 3 + ["white tea"] * 2
    assert [row["rank"] for row in rows] == ["1", "2", "3", "1", "2"]
    assert [row["kind"] for row in rows[:3]] == ["attach", "attach", "coarse"]
    assert [row["decision"] for row in rows[:3]] == ["", "", "accepted"]
    assert row["path"] == " > ".join(MARTINI.split(" > ")[:depth])
    assert row["levels"] == " > ".join(LEVELS.split(" > ")[:depth])
    assert row["confidence"] == row["score"] == row["levels"].split(" > ")[-1]


def test_an_exact_place_that_is_sure_has_no_coarse_row() -> None:
    rows = decided_by_expand(MENU, BOTH, min_branch=0.5)
    assert [(row["kind"], row["decision"]) for row in rows] == [
        ("attach", "accepted"),
        ("attach", ""),
    ]


def test_a_finer_suggestion_with_the_parent_of_a_coarse_placement_is_not_accepted_too() -> None:
    also = "espresso martini,2,drink,food > drink,0.2,0.2,1 > 0.97,,,,attach"
    rows = accepted(decided_by_expand(MENU, table(COLUMNS, first(), also)))
    assert [(row["parent_id"], row["kind"]) for row in rows] == [("drink", "coarse")]


def test_a_root_above_all_others_is_not_a_place(tmp_path: Path) -> None:
    row = "tonic,1,food,food,0.4,0.9,1,,,,attach"
    applied = apply(tmp_path, MENU, table(COLUMNS, row))
    assert applied.placed == {}
    assert applied.left_out == 1


@pytest.mark.parametrize(
    ("row", "placed"),
    [
        ("quince,1,fruit,fruit,0.4,0.9,0.95,,,,attach", {"quince": ["fruit"]}),
        ("quince,1,pear,fruit > pear,0.4,0.3,0.95 > 0.3,,,,attach", {}),
    ],
)
def test_one_of_many_roots_is_a_place_only_if_it_is_suggested(
    tmp_path: Path, row: str, placed: dict[str, list[str]]
) -> None:
    flat = Taxonomy(MENU.concepts, [("fruit", each) for each in ("apple", "pear", "plum")])
    assert apply(tmp_path, flat, table(COLUMNS, row)).placed == placed


def test_concepts_that_are_left_out_are_counted_by_reason(tmp_path: Path) -> None:
    rows = table(
        COLUMNS,
        first(sure_from="0.8"),
        first("flat white", place="none"),
        first("thing", levels="1 > 0.6 > 0.5 > 0.4"),
    )
    applied = apply(tmp_path, MENU, rows)
    assert applied.placed == {"espresso martini": ["cocktail"]}
    assert applied.left_out == 2
    assert "1 without a suitable parent" in applied.messages
    assert "1 not sure enough" in applied.messages
    labels = ("espresso martini", "flat white", "thing")
    everything = apply(tmp_path, MENU, rows, "--all")
    assert everything.placed == {label: ["martini"] for label in labels}


@pytest.mark.parametrize(
    ("rows", "parent"),
    [
        ([second(rank="")], "fruit"),
        ([second("accepted")], "fruit"),
        ([second()], "fruit"),
        ([first(), second("accepted")], "fruit"),
        ([first(decision="rejected"), second()], None),
        ([first(rank="", decision="rejected"), second()], None),
        ([first(), second(rank="3")], "drink"),
    ],
)
def test_a_person_decides_before_the_rule(
    tmp_path: Path, rows: list[str], parent: str | None
) -> None:
    """A row of one's own, an accepted row, or a removed first row is a decision."""
    applied = apply(tmp_path, MENU, table(COLUMNS, *rows))
    assert applied.placed == ({"espresso martini": [parent]} if parent else {})
    assert applied.left_out == (parent is None)


def test_a_finer_suggestion_that_a_person_accepts_replaces_the_coarse_one(tmp_path: Path) -> None:
    rows = decided_by_expand(MENU, BOTH)
    assert [row["parent_id"] for row in accepted(rows)] == ["drink"]
    rows[0]["decision"] = "accepted"
    assert apply(tmp_path, MENU, table_of(rows)).placed == {"espresso martini": ["martini"]}


@pytest.mark.parametrize(
    "options", [{"exact_only": True}, {"min_confidence": 0.5}, {"min_score": 0.3}, {"top_k": 2}]
)
def test_exact_parents_thresholds_and_several_parents_make_no_coarse_placements(
    options: dict[str, Any],
) -> None:
    rows = decided_by_expand(MENU, BOTH, **options)
    assert [row["decision"] for row in rows] == ["accepted", ""]


def test_an_exact_parent_must_be_more_likely_right_than_wrong() -> None:
    unsure = table(COLUMNS, first(confidence="0.4"))
    (row,) = decided_by_expand(MENU, unsure, exact_only=True)
    assert row["decision"] == "undecided"


def test_without_known_branches_the_exact_parent_counts(tmp_path: Path) -> None:
    rows = table(COLUMNS, first(levels=""), first("thing", levels="", confidence="0.4"))
    assert apply(tmp_path, MENU, rows).placed == {"espresso martini": ["martini"]}


def test_a_likely_synonym_is_not_placed_coarsely(tmp_path: Path) -> None:
    merge = f"espresso martini,1,martini,{MARTINI},0.4,0.5,,,,,merge"
    applied = apply(tmp_path, MENU, table(COLUMNS, merge, second()), "--allow-merges")
    assert applied.placed == {}
    assert applied.synonyms == {"martini": ["espresso martini"]}


@pytest.mark.parametrize(
    ("parent", "path"), [("gone", MARTINI), ("martini", "food > drink > martini")]
)
def test_a_suggestion_that_was_made_for_another_taxonomy_has_no_sure_place(
    tmp_path: Path, parent: str, path: str
) -> None:
    levels = " > ".join(["1"] * len(path.split(" > ")))
    row = f"espresso martini,1,{parent},{path},0.4,0.9,{levels},,,,attach"
    applied = apply(tmp_path, MENU, table(COLUMNS, row))
    assert applied.placed == {}
    assert applied.left_out == 1


def test_the_omitted_part_of_a_long_path_is_not_a_place(tmp_path: Path) -> None:
    labels = [f"c{number}" for number in range(60)]
    others = [f"d{number}" for number in range(60)]
    relations = [*pairwise(labels), *(("c0", other) for other in others)]
    chain = Taxonomy([Concept(name, name) for name in (*labels, *others)], relations)
    path = chain.short_path("c59")
    omitted = path.index("…")

    def placed(sure: int) -> dict[str, list[str]]:
        """Place a concept whose branch is sure for this many labels of the path."""
        levels = " > ".join(["0.95"] * sure + ["0.4"] * (len(path) - sure))
        row = f"x,1,c59,{' > '.join(path)},0.4,0.4,{levels},,,,attach"
        return apply(tmp_path, chain, table(COLUMNS, row)).placed

    assert placed(omitted + 1) == placed(omitted)
    assert placed(omitted + 2) == {"x": [path[omitted + 1]]}


def test_a_suggestion_knows_the_probability_of_every_branch() -> None:
    query = Concept("", "oat milk")
    path = ("food", "milk")
    known = Suggestion(query, 1, Concept("m", "milk"), path, levels=(1.0, 0.98765))
    assert known.lineage == (("food", 1.0), ("milk", 0.98765))
    assert known.branch_confidence == 0.98765
    unknown = Suggestion(query, 1, Concept("m", "milk"), path)
    assert unknown.lineage == ()
    assert unknown.branch_confidence is None
