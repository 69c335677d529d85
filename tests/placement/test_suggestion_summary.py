from __future__ import annotations

from taxoexpan.placement.suggestion_summary import SuggestionSummary
from taxoexpan.placement.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

MILK = Concept("m", "milk")


def suggestion(id: str, rank: int, kind: str = "attach", place: str = "") -> Suggestion:
    query = Concept(id, f"concept {id}")
    return Suggestion(query, rank, MILK, ("milk",), 0.5, None, SuggestionKind(kind), Place(place))


def test_a_summary_of_blocks_is_that_of_all() -> None:
    blocks = [
        [suggestion("1", 1), suggestion("1", 2), suggestion("2", 1, "merge")],
        [suggestion("3", 1, place="none"), suggestion("4", 1), suggestion("4", 2, "merge")],
        [],
    ]
    summary = SuggestionSummary()
    for block in blocks:
        summary.add(block)
    assert summary == SuggestionSummary().add([each for block in blocks for each in block])
    assert summary.queries == 4
    assert [each.query.id for each in summary.merged] == ["2"]
    assert [each.query.id for each in summary.without_parent] == ["3"]
