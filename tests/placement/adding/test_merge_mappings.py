from __future__ import annotations

from taxoexpan.formats.changes.sssom import ConceptMapping, Justification
from taxoexpan.placement.adding.merge_mappings import merge_mappings
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

TEA = Concept("1", "tea")


def merge(id: str, rank: int) -> Suggestion:
    query, kind = Concept(id, "cha"), SuggestionKind.MERGE
    return Suggestion(query, rank, TEA, ("tea",), 0.5, 0.9, kind=kind)


def test_a_merge_of_the_model_has_its_confidence() -> None:
    (found,) = merge_mappings([merge("7", 1)], {"7"})
    assert found == ConceptMapping("7", "cha", "1", "tea", Justification.COMPOSITE, 0.9)


def test_a_proposed_id_is_not_exported() -> None:
    (found,) = merge_mappings([merge("8", 0)], {"7"})
    assert found == ConceptMapping("", "cha", "1", "tea", Justification.MANUAL, None)
