from __future__ import annotations

from dataclasses import replace

import pytest

from taxoexpan.placement.suggesting.suggestions import (
    COLUMNS,
    Place,
    Suggestion,
    SuggestionKind,
    Verdict,
    join_texts,
)
from taxoexpan.taxonomy import Concept

QUERY = Concept("n1", "oat milk", ("oat drink",))
FULL = Suggestion(
    query=QUERY,
    rank=2,
    parent=Concept("m", "milk"),
    path=("food", "milk"),
    score=0.123456789,
    confidence=0.98765,
    kind=SuggestionKind.INSERT,
    place=Place.NONE,
    moves=("a|b", "c"),
    why="because",
    decision=Verdict.ACCEPTED,
    levels=(1.0, 0.98765),
    sure_from=0.83,
)


def test_the_columns_follow_from_the_fields() -> None:
    assert tuple(COLUMNS) == (
        *("query", "query_id", "rank", "parent_id", "parent_label", "path", "score", "confidence"),
        *("decision", "kind", "place", "moves", "why", "levels", "sure_from"),
    )
    types = {name: column.type for name, column in COLUMNS.items()}
    assert (types["rank"], types["path"], types["confidence"]) == (int, tuple, float)
    assert types["kind"] is SuggestionKind
    assert all(column.about.endswith(".") for column in COLUMNS.values())


def test_a_suggestion_is_restored_from_its_values() -> None:
    assert Suggestion.restored(QUERY, FULL.values()) == FULL
    stored = {name: FULL.values()[name] for name in ("rank", "parent_id", "parent_label")}
    own = Suggestion.restored(QUERY, stored | {"confidence": None, "score": None})
    assert own == Suggestion(QUERY, 2, FULL.parent)
    with pytest.raises(ValueError, match="perhaps"):
        Suggestion.restored(QUERY, FULL.values() | {"kind": "perhaps"})


def test_cells_are_short_texts_and_numbers() -> None:
    cells = FULL.as_dict()
    assert tuple(cells) == tuple(COLUMNS)
    assert (cells["query"], cells["query_id"], cells["path"]) == ("oat milk", "n1", "food > milk")
    assert (cells["score"], cells["confidence"]) == (0.123457, 0.9877)
    assert (cells["moves"], cells["kind"]) == ('["a|b", "c"]', "insert")
    assert join_texts(["é|è"]) == '["é|è"]'
    assert (join_texts(["a", "b"]), join_texts([" a"])) == ("a|b", '[" a"]')
    assert (FULL.measure, Suggestion(QUERY, 2, FULL.parent).measure) == ("confidence", "score")


@pytest.mark.parametrize(
    ("rank", "decision", "decided"),
    [
        (1, Verdict.OPEN, False),
        (1, Verdict.UNDECIDED, False),
        (1, Verdict.ACCEPTED, True),
        (0, Verdict.OPEN, True),
        (0, Verdict.UNDECIDED, True),
        (0, Verdict.REJECTED, False),
    ],
)
def test_accepted_suggestions_and_those_of_a_person_are_decided(
    rank: int, decision: Verdict, decided: bool
) -> None:
    assert Suggestion(QUERY, rank, FULL.parent, decision=decision).is_decided == decided


def test_the_lineage_has_the_confidence_of_every_level() -> None:
    assert FULL.lineage == (("food", 1.0), ("milk", 0.98765))
    assert FULL.branch_confidence == 0.98765
    unknown = replace(FULL, levels=())
    assert (unknown.lineage, unknown.branch_confidence) == ((), None)
