"""The candidates of a reconciliation query: concepts with its name, duplicates, and parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taxoexpan.desk.service.reconciliation.queries import ReconciliationQuery
from taxoexpan.desk.service.suggester import ServiceState, SuggestionOptions
from taxoexpan.placement.adding.acceptance import place_safely
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Taxonomy

CONCEPT_TYPE = {"id": "concept", "name": "Concept"}
PARENT_TYPE = {"id": "proposed-parent", "name": "Proposed parent"}
SAFE_TYPE = {"id": "safe-ancestor", "name": "Safe ancestor"}
TYPES = (SAFE_TYPE, PARENT_TYPE, CONCEPT_TYPE)
"""Those of a safe ancestor, most specific first; clients that show one type show the first."""
MARKS = {SAFE_TYPE["id"]: " (safe ancestor)", PARENT_TYPE["id"]: " (proposed parent)"}
"""They are in the name, because clients show the name and keep it when a candidate is chosen."""
NAME_SCORE = 100.0

Candidate = dict[str, Any]


async def reconcile(
    state: ServiceState, queries: Mapping[str, ReconciliationQuery]
) -> dict[str, dict[str, list[Candidate]]]:
    """Return the candidates of each query, best first.

    Concepts with the name or the id of a query have the score 100; a single active one is a match.
    Other queries get likely duplicates and suggested parents.
    """
    results = {key: _named(state, query) for key, query in queries.items()}
    unnamed = [key for key in queries if not results[key] and queries[key].concept().label]
    options = SuggestionOptions(max((queries[key].max_candidates for key in unnamed), default=1))
    placed = await state.suggester.suggest([queries[key].concept() for key in unnamed], options)
    for key, result in zip(unnamed, placed, strict=True):
        results[key] = _proposed(state, result.suggestions)
    return {
        key: {"result": _of_type(results[key], query)[: query.max_candidates]}
        for key, query in queries.items()
    }


def _named(state: ServiceState, query: ReconciliationQuery) -> list[Candidate]:
    """Return the concept with the id of a query, or else the concepts with its name."""
    taxonomy, text = state.taxonomy, query.concept().label
    by_id = [taxonomy.index(query.query)] if query.query in taxonomy else []
    found = by_id or state.suggester.names.find(text)
    active = [index for index in found if index not in taxonomy.deprecated]
    return [
        _candidate(
            taxonomy,
            index,
            NAME_SCORE,
            match=active == [index],
            features={"same_name": True, "deprecated": index in taxonomy.deprecated},
        )
        for index in (*active, *(index for index in found if index in taxonomy.deprecated))
    ]


def _proposed(state: ServiceState, suggestions: Sequence[Suggestion]) -> list[Candidate]:
    """Return duplicates and suggested parents as candidates with falling scores and no match."""
    taxonomy, candidates, highest = state.taxonomy, [], NAME_SCORE
    for suggestion in _with_safe(state, suggestions):
        is_parent = not suggestion.is_merge
        row = suggestion.as_dict()
        features = {"proposed_parent": is_parent, "score": row["score"]}
        if row["confidence"] is not None:
            features["confidence"] = row["confidence"]
        if suggestion.branch_confidence is not None:
            features["branch_confidence"] = suggestion.branch_confidence
        index = taxonomy.index(suggestion.parent.id)
        highest = min(highest, round(100 * suggestion.confidence_or_score, 2))
        types = TYPES[suggestion.kind != SuggestionKind.COARSE :] if is_parent else [CONCEPT_TYPE]
        candidates.append(_candidate(taxonomy, index, highest, False, features, types))
    return candidates


def _with_safe(state: ServiceState, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Insert the deepest sure ancestor after a first suggestion that is suitable but not sure."""
    suitable = [each for each in suggestions[:1] if each.place != Place.NONE]
    placed = place_safely(suitable, state.suggester.min_branch, state.taxonomy)
    safe = [each for each in placed if each.kind == SuggestionKind.COARSE]
    rest = (s for s in suggestions[1:] if s.parent.id not in {each.parent.id for each in safe})
    return [*suggestions[:1], *safe, *rest]


def _candidate(
    taxonomy: Taxonomy,
    index: int,
    score: float,
    match: bool,
    features: Mapping[str, Any],
    types: Sequence[dict[str, str]] = (CONCEPT_TYPE,),
) -> Candidate:
    return {
        "id": taxonomy.ids[index],
        "name": taxonomy.labels[index] + MARKS.get(types[0]["id"], ""),
        "description": describe_path(taxonomy, index),
        "type": list(types),
        "score": score,
        "features": [{"id": id, "value": value} for id, value in features.items()],
        "match": match,
    }


def describe_path(taxonomy: Taxonomy, index: int) -> str:
    """Return the labels from a root to a concept, to distinguish concepts with the same name."""
    return " > ".join(taxonomy.path(taxonomy.ids[index]))


def _of_type(candidates: Sequence[Candidate], query: ReconciliationQuery) -> list[Candidate]:
    """Keep the candidates with a type of the query; unknown types are ignored."""
    wanted = query.types & {each["id"] for each in TYPES}
    return [
        candidate
        for candidate in candidates
        if not wanted or wanted & {each["id"] for each in candidate["type"]}
    ]
