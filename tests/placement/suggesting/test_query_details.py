from __future__ import annotations

from dataclasses import replace

from taxoexpan import Concept
from taxoexpan.placement.suggesting.query_details import with_details
from taxoexpan.placement.suggesting.suggestions import Suggestion


def suggestion(label: str, parent: str) -> Suggestion:
    return Suggestion(Concept("", label), 1, Concept(parent, parent), (parent,), 0.9)


def test_details_are_copied_to_queries_by_their_label() -> None:
    concepts = [Concept("x", "Nut-Milk", ("nut drink",), "a drink made of nuts")]
    (detailed,) = with_details([suggestion("nut milk", "milk")], concepts)
    assert detailed.query == Concept("", "nut milk", ("nut drink",), "a drink made of nuts")


def test_details_of_a_repeated_label_come_from_the_row_that_is_placed() -> None:
    concepts = [Concept("x", "nut milk", (), "first"), Concept("y", "nut milk", (), "second")]
    (first,) = with_details([suggestion("nut milk", "milk")], concepts)
    assert first.query.definition == "first"
    own = suggestion("nut milk", "milk")
    (second,) = with_details([replace(own, query=replace(own.query, id="y"))], concepts)
    assert second.query.definition == "second"
