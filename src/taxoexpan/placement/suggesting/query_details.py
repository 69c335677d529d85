"""Synonyms and definitions of queries, from the list of concepts to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name


def with_details(
    suggestions: Sequence[Suggestion], concepts: Sequence[Concept]
) -> list[Suggestion]:
    """Copy synonyms and definitions from a list of concepts to the suggestions' queries.

    Of several concepts with one name, the one with the query's id counts, or else the first, which
    is the one that is placed.
    """
    details: dict[tuple[str, str], Concept] = {}
    for concept in concepts:
        name = normalize_name(concept.label)
        details.setdefault((name, concept.id), concept)
        details.setdefault((name, ""), concept)
    detailed = []
    for suggestion in suggestions:
        query = suggestion.query
        name = normalize_name(query.label)
        listed = details.get((name, query.id)) or details.get((name, ""), query)
        synonyms = listed.synonyms or query.synonyms
        definition = listed.definition or query.definition
        query = replace(query, synonyms=synonyms, definition=definition)
        detailed.append(replace(suggestion, query=query))
    return detailed
