"""Suggestions with the reasons for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.sentences import describe
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind


def with_reasons(
    suggestions: Sequence[Suggestion], evidence: Sequence[Evidence]
) -> list[Suggestion]:
    """Return the suggestions with the reasons for the first parent of each concept.

    Suggestions to merge have none.
    """
    why = {(each.query.id, each.first.parent.id): describe(each) for each in evidence}
    return [
        s
        if s.kind == SuggestionKind.MERGE
        else replace(s, why=why.get((s.query.id, s.parent.id), ""))
        for s in suggestions
    ]
