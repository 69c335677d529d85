"""The tools of the server: what each is for, and how it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from taxoexpan.desk.assistant.checked_taxonomy import CheckedTaxonomy
from taxoexpan.desk.assistant.tool_schemas import (
    CheckArguments,
    CheckResponse,
    ConceptArguments,
    SearchArguments,
    SuggestArguments,
)
from taxoexpan.desk.service.api_schemas import (
    ConceptDetails,
    QueryResult,
    SearchResponse,
    SuggestResponse,
)
from taxoexpan.desk.service.concept_lookup import describe_concept, find_concept, search_concepts
from taxoexpan.desk.service.suggester import Suggester, SuggestionOptions
from taxoexpan.taxonomy.name_search import NameIndex


@dataclass(frozen=True)
class AssistantTool:
    """A tool that reads: its description, the forms of its arguments and answers, and its code."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Any], Awaitable[BaseModel]]


def all_tools(suggester: Suggester, checked: CheckedTaxonomy) -> list[AssistantTool]:
    """Return every tool, for one model and one taxonomy to check."""
    return [
        search_tool(suggester),
        concept_tool(suggester),
        suggest_tool(suggester),
        check_tool(checked),
    ]


def search_tool(suggester: Suggester) -> AssistantTool:
    """Return the tool that finds concepts by name."""
    taxonomy = suggester.model.taxonomy
    index = NameIndex.of(taxonomy)

    async def search(arguments: SearchArguments) -> SearchResponse:
        return search_concepts(taxonomy, index, arguments.query, arguments.limit)

    return AssistantTool(
        "search",
        "Search concepts by name",
        "Find concepts of the taxonomy by label, synonym or name in another language, best first. "
        "Case and accents are ignored. Deprecated concepts are not found.",
        SearchArguments,
        SearchResponse,
        search,
    )


def concept_tool(suggester: Suggester) -> AssistantTool:
    """Return the tool that shows one concept."""
    taxonomy = suggester.model.taxonomy

    async def concept(arguments: ConceptArguments) -> ConceptDetails:
        index = find_concept(taxonomy, arguments.id, "the tool search")
        return describe_concept(taxonomy, index, arguments.offset, arguments.limit)

    return AssistantTool(
        "concept",
        "Show a concept",
        "Return the label, definition, synonyms, parents and path of a concept of the taxonomy, "
        "and one page of its children.",
        ConceptArguments,
        ConceptDetails,
        concept,
    )


def suggest_tool(suggester: Suggester) -> AssistantTool:
    """Return the tool that suggests parents."""
    taxonomy = suggester.model.taxonomy

    async def suggest(arguments: SuggestArguments) -> SuggestResponse:
        concepts = [concept.concept() for concept in arguments.concepts]
        options = SuggestionOptions(arguments.top_k, arguments.explain)
        placed = await suggester.suggest(concepts, options)
        return SuggestResponse(results=[QueryResult.of(taxonomy, each) for each in placed])

    return AssistantTool(
        "suggest",
        "Suggest parents for new concepts",
        "Rank the parents in the taxonomy for one or several new concepts, each given by its label "
        "and, if known, a definition and synonyms, which make the ranking better. The confidence "
        "is the probability that a suggestion is right; it is null if the model has not learned "
        "one. If the taxonomy already has a concept of that name, known lists it, and there are no "
        "suggestions. Nothing is changed: people decide about suggestions.",
        SuggestArguments,
        SuggestResponse,
        suggest,
    )


def check_tool(checked: CheckedTaxonomy) -> AssistantTool:
    """Return the tool that lists likely mistakes."""

    async def check(arguments: CheckArguments) -> CheckResponse:
        return await asyncio.to_thread(checked.answer, arguments)

    return AssistantTool(
        "check",
        "List likely mistakes in the taxonomy",
        "Return findings, worst first: cycles, isolated concepts, repeated and similar labels, "
        "redundant relations and more. Each has a code, a severity, a place (the id of a concept, "
        "a line or the file) and a message.",
        CheckArguments,
        CheckResponse,
        check,
    )
