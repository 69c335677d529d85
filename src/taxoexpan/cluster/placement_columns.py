"""Concepts and suggestions as Arrow tables, as they travel between processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from taxoexpan.errors import ModelError
from taxoexpan.explain import Evidence
from taxoexpan.explain.suggested_block import SuggestedBlock
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

CONCEPTS = pa.schema(
    {
        "number": pa.int64(),
        "id": pa.string(),
        "label": pa.string(),
        "synonyms": pa.list_(pa.string()),
        "definition": pa.string(),
    }
)
SUGGESTION = pa.struct(
    {
        "rank": pa.int64(),
        "parent": pa.int64(),
        "score": pa.float64(),
        "confidence": pa.float64(),
        "kind": pa.string(),
        "place": pa.string(),
        "moves": pa.list_(pa.string()),
        "why": pa.string(),
    }
)
PLACEMENTS = pa.schema(
    {
        "number": pa.int64(),
        "suggestions": pa.list_(SUGGESTION),
        "evidence": pa.string(),
        "warnings": pa.list_(pa.string()),
        "error": pa.string(),
    }
)
"""One row per query. Its parents are indices of concepts. Warnings and errors are in the first."""


def concepts_table(first: int, concepts: Sequence[Concept]) -> pa.Table:
    """Return new concepts as a table; `first` is the number of the first one."""
    rows = [
        {
            "number": number,
            "id": concept.id,
            "label": concept.label,
            "synonyms": concept.synonyms,
            "definition": concept.definition,
        }
        for number, concept in enumerate(concepts, start=first)
    ]
    return pa.Table.from_pylist(rows, CONCEPTS)


def concepts_of(table: pa.Table) -> list[Concept]:
    """Return the concepts of a table."""
    return [
        Concept(row["id"], row["label"], tuple(row["synonyms"]), row["definition"])
        for row in table.to_pylist()
    ]


def placements_table(
    queries: pa.Table, taxonomy: Taxonomy, block: SuggestedBlock, warnings: Sequence[str]
) -> pa.Table:
    """Return the suggestions for a table of queries."""
    suggestions: dict[str, list[dict[str, Any]]] = {id: [] for id in queries["id"].to_pylist()}
    evidence = {each.query.id: json.dumps(each.to_dict()) for each in block.evidence}
    for each in block.suggestions:
        suggestions[each.query.id].append(
            {
                "rank": each.rank,
                "parent": taxonomy.index(each.parent.id),
                "score": each.score,
                "confidence": each.confidence,
                "kind": each.kind.value,
                "place": each.place.value,
                "moves": each.moves,
                "why": each.why,
            }
        )
    rows: list[dict[str, Any]] = [
        {"number": number, "suggestions": own, "evidence": evidence.get(id), "warnings": []}
        for number, (id, own) in zip(
            queries["number"].to_pylist(), suggestions.items(), strict=True
        )
    ]
    rows[0]["warnings"] = list(warnings)
    return pa.Table.from_pylist(rows, PLACEMENTS)


def error_table(queries: pa.Table, message: str) -> pa.Table:
    """Return the message of an error instead of suggestions."""
    number = queries["number"][0].as_py()
    row = {"number": number, "suggestions": [], "warnings": [], "error": message}
    return pa.Table.from_pylist([row], PLACEMENTS)


class PlacementReader:
    """Turns tables of placements back into suggestions for the queries, which come in order."""

    def __init__(self, taxonomy: Taxonomy, concepts: Sequence[Concept]) -> None:
        self._taxonomy, self._concepts = taxonomy, concepts
        self.placed = 0

    def read(self, table: pa.Table) -> tuple[SuggestedBlock, list[str]]:
        """Return the suggestions and the warnings of the next table."""
        block, warnings = SuggestedBlock([], []), list[str]()
        for row in table.to_pylist():
            if row["error"] is not None:
                raise ModelError(row["error"])
            if row["number"] != self.placed:
                message = f"the concept {row['number']} came back, but {self.placed} is the next"
                raise ModelError(f"{message}; use the engine local, and report this error")
            self.placed += 1
            query = self._concepts[row["number"]]
            block.suggestions.extend(self._suggestion(query, each) for each in row["suggestions"])
            if row["evidence"] is not None:
                block.evidence.append(Evidence.from_dict(json.loads(row["evidence"])))
            warnings += row["warnings"]
        return block, warnings

    def _suggestion(self, query: Concept, values: dict[str, Any]) -> Suggestion:
        parent = self._taxonomy.concept_at(values["parent"])
        return Suggestion(
            query=query,
            rank=values["rank"],
            parent=parent,
            path=self._taxonomy.short_path(parent.id),
            score=values["score"],
            confidence=values["confidence"],
            kind=SuggestionKind(values["kind"]),
            place=Place(values["place"]),
            moves=tuple(values["moves"]),
            why=values["why"],
        )
