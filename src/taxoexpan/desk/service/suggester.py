"""Suggestions for the concepts of requests: known names are looked up, new ones are batched."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from taxoexpan.desk.service.name_matches import NameMatches
from taxoexpan.desk.service.request_batching import RequestBatcher
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept


class SuggestionOptions(NamedTuple):
    """What a request wants; requests with the same options are answered together."""

    top_k: int = 5
    explain: bool = False


@dataclass(frozen=True)
class PlacedQuery:
    """The suggestions for one concept, or the existing concepts that already have its name."""

    concept: Concept
    known: tuple[int, ...]
    suggestions: Sequence[Suggestion]


class Suggester:
    """Places the concepts of requests with one model, one batch at a time."""

    def __init__(
        self, model: TaxoExpan, max_waiting: int, on_batch: Callable[[int, float], None]
    ) -> None:
        self.model = model
        self.names = NameMatches(model.taxonomy)
        self.batcher = RequestBatcher(self._suggest_each, max_waiting, on_batch)

    def warm_up(self) -> None:
        """Compute what the first request would have to wait for."""
        self._suggest_each([Concept("", "first")], SuggestionOptions())

    async def suggest(
        self, concepts: Sequence[Concept], options: SuggestionOptions
    ) -> list[PlacedQuery]:
        """Return the result of each concept; raise `QueueFullError` if too many are waiting."""
        known = [tuple(self.names.find(concept.label)) for concept in concepts]
        new = [concept for concept, found in zip(concepts, known, strict=True) if not found]
        ranked = iter(await self.batcher.submit(new, options))
        return [
            PlacedQuery(concept, found, () if found else next(ranked))
            for concept, found in zip(concepts, known, strict=True)
        ]

    def _suggest_each(
        self, concepts: Sequence[Concept], options: SuggestionOptions
    ) -> list[list[Suggestion]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about a batch, not about a request
            return self.model.suggest_each(concepts, options.top_k, options.explain)
